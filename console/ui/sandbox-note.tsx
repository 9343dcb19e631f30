import { getRouteApi } from "@tanstack/react-router";

const shell = getRouteApi("/shell");

/** Says of something that is about to be sent that no one gets it. */
export function SandboxNote({ text }: { readonly text: string }) {
  return <p className="bg-accent-soft rounded-lg p-3">This is a sandbox: {text}</p>;
}

/** Reports whether nothing but the sandbox sends or calls. */
export function isSandbox(drivers: readonly string[]): boolean {
  return drivers.length > 0 && drivers.every((driver) => driver === "sandbox");
}

/** Says so if only the sandbox places the account's calls. */
export function CallsSandboxNote() {
  if (!isSandbox(shell.useRouteContext().me.drivers.voice)) return null;
  return <SandboxNote text="calls are simulated, and no phone rings." />;
}

/** Says so if only the sandbox sends the account's messages and places its calls. */
export function AccountSandboxNote() {
  const { chat, voice } = shell.useRouteContext().me.drivers;
  if (!isSandbox([...chat, ...voice])) return null;
  return <SandboxNote text="nothing is really sent, and no phone rings." />;
}
