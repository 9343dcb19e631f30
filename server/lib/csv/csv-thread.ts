// The thread that converts an uploaded file to rows of cells for COPY.
import { copyLine } from "./copy-line.ts";
import { openLineBuffer } from "./line-buffer.ts";
import { runLineThread } from "./run-line-thread.ts";

await runLineThread((first_columns: string) => {
  const lines = openLineBuffer();
  let rows = 0;
  return {
    add({ row_number, cells }) {
      rows++;
      lines.add(copyLine(first_columns, row_number, cells));
    },
    take: lines.take,
    progress: () => rows,
  };
});
