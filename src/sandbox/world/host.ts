/** What the machine outside gives to this world: four functions, put on the global object for the moment of loading. */
interface Host {
  /** One console line; the text is a JSON string, so that U+0000 and lone surrogates survive the way. */
  print(level: string, textJson: string): void;
  /** One command. Answers the size of the arguments in UTF-8 bytes when that is over the limit: it is then not issued. */
  command(headerJson: string, argumentsText: string): number | undefined;
  /** The script ended: `returned` with the value's text, or `failed` with a failure. */
  ended(kind: "returned" | "failed", text: string): void;
}

const globals = globalThis as unknown as { holdpointHost?: Host };

export const host: Host = globals.holdpointHost as Host;
delete globals.holdpointHost;
