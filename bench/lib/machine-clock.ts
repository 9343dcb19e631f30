/** Milliseconds of the machine's monotonic clock: the same in every process. */
export function machineTime_ms(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
