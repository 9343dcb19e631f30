// Connects to the embedded database, for what no request can create.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import type { Service } from "./console-fixture.ts";

/** Returns a connection to the service's embedded database, which the caller ends. */
export async function openDatabase({ data_dir }: Pick<Service, "data_dir">): Promise<pg.Client> {
  const read = async (file: string) => (await readFile(join(data_dir, file), "utf8")).trim();
  const db = new pg.Client({
    host: "127.0.0.1",
    port: Number(await read("postgres-port")),
    user: "trunkline",
    password: await read("postgres-password"),
    database: "trunkline",
  });
  await db.connect();
  return db;
}
