import { voiceDriverContract } from "../../../../test/support/voice-driver-contract.ts";
import type { DialTarget } from "../driver.ts";
import { openSandboxVoiceDriver } from "./open-sandbox-driver.ts";

voiceDriverContract("sandbox", async () => {
  const driver = openSandboxVoiceDriver({ pace: 10 });
  const trunk = (number: string): DialTarget => ({ kind: "trunk", endpoint: "carrier", number });
  const node = { id: 1, name: "sandbox", ari: null, cdr_path: null, sounds_dir: null };
  return {
    driver,
    node,
    callIn: (from, to) => driver.receiveCall(node, { endpoint: "carrier", from, to }),
    far_ends: {
      stays: { kind: "extension", endpoint: "777900", number: "777900" },
      human: trunk("919812345678"),
      machine: trunk("919876777205"),
      hangs_up: trunk("919876777901"),
      presses_1: trunk("919876777701"),
      rings: trunk("919876777480"),
      declined: trunk("919876777603"),
      busy: trunk("919876777486"),
      unallocated: trunk("919876777404"),
      invalid: trunk("919876777484"),
      congestion: trunk("919876777503"),
      unreachable: { kind: "extension", endpoint: "777020", number: "777020" },
    },
    close: () => driver.close(),
  };
});
