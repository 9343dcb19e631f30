// The explicit list of background work.
import { workLeadImports } from "./crm/work-lead-imports.ts";
import type { App } from "./engine/app.ts";
import { runLoop } from "./engine/run-loop.ts";

export type BackgroundWork = {
  /** Ends each loop after the transaction it is in. */
  stop(): Promise<void>;
};

/** Starts every loop of the worker role. Any number of processes may run them. */
export function startWorker(app: App): BackgroundWork {
  const loops = [
    runLoop(app, {
      name: "lead-imports",
      channel: "lead_import",
      poll_ms: 2_000,
      turn: (stopping) => workLeadImports(app, stopping),
    }),
  ];
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}
