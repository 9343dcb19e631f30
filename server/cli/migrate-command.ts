import { migrate } from "../lib/database/migrate.ts";
import type { Command } from "./command.ts";

export const migrateCommand: Command = {
  name: "migrate",
  summary: "Apply pending database migrations",
  run: async (session) => {
    const applied = await migrate(await session.databaseUrl(), {
      report: (line) => process.stderr.write(`${line}\n`),
    });
    const text =
      applied.length === 0
        ? "the schema is up to date"
        : applied.map((name) => `applied ${name}`).join("\n");
    return { json: { applied }, text };
  },
};
