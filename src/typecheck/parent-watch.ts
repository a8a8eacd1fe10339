/**
 * A thread beside the checking one: it ends the process once its parent is gone. A check occupies its own thread for as long
 * as a hostile script likes, and hears of nothing meanwhile, so a killed dispatcher would leave it running.
 */
const INTERVAL_MS = 500;
const parent = process.ppid;

setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, "SIGKILL");
}, INTERVAL_MS);
