/** Returns the machine's monotonic clock in milliseconds, which is the same in every process. */
export function machineTime_ms(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
