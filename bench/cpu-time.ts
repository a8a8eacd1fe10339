import { readdirSync, readFileSync } from "node:fs";

const CLOCK_TICKS_PER_SECOND = 100;

/** CPU seconds of a process, of its live descendants, and of those that ended and were waited for. Linux only. */
export function cpuSeconds(pid: number): number {
  const children = childrenByParent();
  const ticksOf = (of: number): number => {
    const own = readStat(of);
    if (!own) return 0;
    return (children.get(of) ?? []).reduce((sum, child) => sum + ticksOf(child), own.ticks);
  };
  return ticksOf(pid) / CLOCK_TICKS_PER_SECOND;
}

function childrenByParent(): Map<number, number[]> {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    const parent = Number.isInteger(pid) ? readStat(pid)?.parent : undefined;
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  return children;
}

function readStat(pid: number): { parent: number; ticks: number } | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The name may hold spaces and parentheses; what follows it does not.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0);
  return { parent: Number(fields[1]), ticks };
}
