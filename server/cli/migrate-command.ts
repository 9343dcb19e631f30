import { migrate } from "../lib/database/migrate.ts";
import type { Command } from "./command.ts";

export const migrateCommand: Command = {
  name: "migrate",
  summary: "Bring the database to this version's schema",
  run: async (session) => {
    const applied = await migrate(await session.databaseUrl());
    const text =
      applied.length === 0 ? "up to date" : applied.map((name) => `ran ${name}`).join("\n");
    return { json: { applied }, text };
  },
};
