import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const program = join(
  import.meta.dirname,
  "node_modules/@seriousme/openapi-schema-validator/bin/validate-api-cli.js",
);

/** Validates a document against the OpenAPI schema of its version; returns "valid" or the violations. */
export async function validateOpenApi(document: unknown): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "trunkline-openapi-"));
  try {
    const file = join(directory, "openapi.json");
    await writeFile(file, JSON.stringify(document));
    const { status, stdout } = spawnSync(process.execPath, [program, file], { encoding: "utf8" });
    return status === 0 ? "valid" : stdout;
  } finally {
    await rm(directory, { recursive: true });
  }
}
