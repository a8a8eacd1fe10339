import { ScriptCheck } from "./check-script.ts";
import type { CheckRequest } from "./checker.ts";

/** The checker's own process: one request at a time, and it ends with its parent. */
const check = new ScriptCheck();
process.on("message", (request: CheckRequest) => process.send?.(check.check(request)));
process.on("disconnect", () => process.exit(0));
process.send?.("ready");
