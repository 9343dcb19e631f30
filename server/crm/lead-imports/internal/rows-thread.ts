// The thread that reads the rows of a file for a preview: a line of JSON each.
import { openLineBuffer } from "../../../lib/csv/line-buffer.ts";
import { runLineThread } from "../../../lib/csv/run-line-thread.ts";

await runLineThread(() => {
  const lines = openLineBuffer();
  return {
    add: (row) => lines.add(`${JSON.stringify(row)}\n`),
    take: lines.take,
    progress: () => null,
  };
});
