import assert from "node:assert/strict";
import { test } from "node:test";
import type { Menu, Prompt } from "./menu.ts";
import { promptTexts } from "./prompt-texts.ts";

const say = (text: string): Prompt => ({ say: text, language: "en" });
const asked = { timeout_seconds: 5, tries: 3, otherwise: "bye" };

test("returns a menu's texts with the recipient's variables, without those that depend on entered digits", () => {
  const menu: Menu = {
    start: "main",
    nodes: {
      bye: { type: "hang_up", prompt: say("Bye {{name}}") },
      main: {
        type: "menu",
        prompt: say("Hello {{name}}"),
        invalid_prompt: say("Pardon"),
        keys: { "1": "pin" },
        ...asked,
      },
      pin: {
        type: "capture",
        prompt: say("Your pin"),
        variable: "pin",
        invalid_prompt: null,
        min_digits: 1,
        max_digits: 4,
        next: "thanks",
        ...asked,
      },
      thanks: { type: "play", prompt: say("You said {{pin}}"), next: "again" },
      again: { type: "play", prompt: say("Pardon"), next: "blank" },
      blank: { type: "play", prompt: say("{{unknown}}"), next: "audio" },
      audio: { type: "play", prompt: { audio: { name: "a", duration_ms: 1 } }, next: "bye" },
    },
  };
  const texts = promptTexts({ call_type: "obd_ivr", menu }, { name: "Asha" });
  assert.deepEqual(
    texts.map(({ text, language }) => `${language}: ${text}`),
    ["en: Hello Asha", "en: Pardon", "en: Bye Asha", "en: Your pin"],
  );
});
