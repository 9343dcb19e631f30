import { setTimeout as wait } from "node:timers/promises";
import { startService } from "../../test/support/service-process.ts";
import { median } from "../lib/figures.ts";
import { pssOfTree_mb } from "../lib/memory.ts";

const idle_ms = 3_000;

/** Measures the time from start to ready, and the idle memory of service and PostgreSQL together. */
export async function measureStart(
  dataDir: string,
  starts: number,
): Promise<{ ready_seconds: number; idle_mb: number }> {
  const seconds: number[] = [];
  const megabytes: number[] = [];
  for (let i = 0; i < starts; i++) {
    const began_ms = performance.now();
    const service = await startService({ DATA_DIR: dataDir });
    seconds.push((performance.now() - began_ms) / 1_000);
    await wait(idle_ms);
    megabytes.push(pssOfTree_mb(service.pid));
    await service.dispose();
  }
  return { ready_seconds: median(seconds), idle_mb: median(megabytes) };
}
