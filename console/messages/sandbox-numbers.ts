// What numbers do in the sandbox, by their last six digits; any other number answers, or reads its message. All of
// them: docs/guides/sandbox.md.

type Behavior = readonly [ending: string, text: string];

export const chat_behaviors: readonly Behavior[] = [
  ["777001", "cannot be reached: the message fails and is refunded"],
  ["777003", "accepts the message, and no status follows"],
  ["777004", "reads it and answers STOP"],
  ["777005", "reads it and answers yes"],
  ["777006", "WhatsApp restricts your number: everything waits for a person"],
];

export const call_behaviors: readonly Behavior[] = [
  ["777701", "answers and presses 1"],
  ["777702", "answers and presses 2; so do 777700 to 777709 with their last digit"],
  ["777209", "answers and presses 9"],
  ["777480", "does not answer"],
  ["777486", "is busy"],
  ["777603", "declines"],
  ["777404", "does not exist"],
  ["777205", "a machine answers"],
  ["777800", "does not answer, and calls back"],
  ["777900", "answers, and talks until you end the call"],
];
