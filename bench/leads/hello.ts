import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** Starts a hello-world server that responds to every POST with `body_bytes` of JSON. */
export async function startHello(
  name: "hello-fastify" | "hello-http",
  body_bytes: number,
): Promise<{ url: string; stop(): Promise<void> }> {
  const script = join(import.meta.dirname, `${name}.ts`);
  const child = spawn(process.execPath, [script, String(body_bytes)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return {
    url: line.toString().trim(),
    async stop() {
      const end = once(child, "exit");
      child.kill();
      await end;
    },
  };
}
