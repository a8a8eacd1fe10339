import { clock } from "./clock.ts";
import { NotJson, readExact, writeExact } from "./exact-text.ts";
import { host } from "./host.ts";
import { placeIn, stackHere } from "./places.ts";
import { defineProperty, freeze, jsonParse, objectCreate, PromiseOf, quote } from "./primordials.ts";
import { failedCall, type ToolErrorFields } from "./tool-error.ts";

interface OpenCommand {
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
  readonly calledAt: string;
}

/** What the script waits for, by ref. Without prototype, so that nobody's setters are met. */
const open: Record<number, OpenCommand> = objectCreate(null);
let refLast = 0;

/** Commands are told apart from calls of a tool by their header; `fields` is its inner text, `"kind":"sleep",…`. */
function issue(toolName: string, fields: string, argumentsText: string): Promise<unknown> {
  const calledAt = stackHere();
  const line = placeIn(calledAt)?.line;
  const header = `{"ref":${refLast + 1},${line === undefined ? "" : `"line":${line},`}${fields}}`;
  const tooLarge = host.command(header, argumentsText);
  if (tooLarge !== undefined) {
    const fault = { path: "", message: `the arguments are ${tooLarge} bytes as JSON, more than the limit` };
    return refuse(toolName, fault.message, fault.path, calledAt);
  }
  refLast += 1;
  const ref = refLast;
  return new PromiseOf((resolve, reject) => {
    open[ref] = { resolve, reject, calledAt };
  });
}

/** A call that is refused before it is issued: deterministic, without a ref, without a record. */
export function refuse(tool: string, message: string, path: string, calledAt = stackHere()): Promise<never> {
  const fields = { code: "InvalidArguments", tool, outcomeUnknown: false, attempts: 0 };
  const details = `{"faults":[{"path":${quote(path)},"message":${quote(message)}}]}`;
  const error = failedCall(message, { ...fields, details: jsonParse(details) }, calledAt, details);
  return new PromiseOf<never>((_resolve, reject) => reject(error));
}

/** The object that `rewind:tools` exports for a group: its tools as functions, under the names the server gives them. */
export function toolGroup(group: string, names: readonly string[]): object {
  const tools: object = objectCreate(null);
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index] as string;
    const tool = `${group}.${name}`;
    const value = (args?: unknown): Promise<unknown> => callTool(tool, args);
    defineProperty(value, "name", { value: name });
    defineProperty(tools, name, { value, enumerable: true });
  }
  return freeze(tools);
}

function callTool(tool: string, args: unknown): Promise<unknown> {
  let text: string;
  try {
    text = args === undefined ? "{}" : writeExact(args);
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    const where = error.path === "" ? "the arguments" : error.path;
    return refuse(tool, `${where}: ${error.what} is not JSON`, error.path);
  }
  return issue(tool, `"kind":"call","tool":${quote(tool)}`, text);
}

/** Asks to be woken at a time. @param untilMs milliseconds since the epoch */
export function issueSleep(untilMs: number): Promise<unknown> {
  return issue("sleep", `"kind":"sleep","untilMs":${untilMs}`, "");
}

/** Asks for the oldest unread payload of a signal. */
export function issueSignal(name: string, timeoutMs: number | undefined): Promise<unknown> {
  const timeout = timeoutMs === undefined ? "" : `,"timeoutMs":${timeoutMs}`;
  return issue("signal", `"kind":"signal","name":${quote(name)}${timeout}`, "");
}

interface DeliveryHeader {
  readonly ref: number;
  readonly atMs: number;
  readonly mark?: string;
  readonly error?: ToolErrorFields & { readonly message: string };
}

/** Settles one command. Unknown refs are left alone: the run that asked for them is another one. */
export function deliver(headerText: string, valueText: string | undefined): void {
  const header = jsonParse(headerText) as DeliveryHeader;
  clock.nowMs = header.atMs;
  const command = open[header.ref];
  if (command === undefined) return;
  delete open[header.ref];
  const value = valueText === undefined ? undefined : readExact(valueText, header.mark);
  if (header.error === undefined) {
    command.resolve(value);
    return;
  }
  const { message, ...fields } = header.error;
  command.reject(failedCall(message, { ...fields, details: value }, command.calledAt, undefined));
}
