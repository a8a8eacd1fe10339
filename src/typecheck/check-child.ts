import { Worker } from "node:worker_threads";
import type { CheckRequest } from "./check-result.ts";
import { checkScript } from "./check-script.ts";

/**
 * The checking process: takes a request, gives its result, and takes the next. Loaded once, it keeps the compiler's library
 * and the declarations of recent pins. Its first message says that it is ready. It ends with its parent.
 */
new Worker(new URL("./parent-watch.ts", import.meta.url)).unref();
process.on("disconnect", () => process.exit(0));
process.on("message", (request: CheckRequest) => {
  process.send?.(checkScript(request));
});
checkScript({ declarationText: "", script: "export {};" });
process.send?.("ready");
