/** Actions whose names alone do not say what happened. */
const sentences: Readonly<Record<string, string>> = {
  "account.features_set": "Features of the account set",
  "account.limits_set": "Limits of the account set",
  "agent.away": "Agent went away",
  "agent.back": "Agent came back",
  "call.hung_up": "Call hung up",
  "call.listened": "Recording listened to",
  "chat_hold.lifted": "Hold of messages lifted",
  "chat_number.bound": "Chat number given to an account",
  "chat_number.synced": "Chat number refreshed",
  "chat_number.unbound": "Chat number taken from the account",
  "chat_recipient.resent": "Message sent again",
  "chat_reply.answered": "Reply answered",
  "chat_test.sent": "Test message sent",
  "chat_webhooks.reprocessed": "Unread webhooks read again",
  "click_to_call.submitted": "Call by a click requested",
  "database.restored": "Restored database confirmed",
  "session.ended": "Signed out",
  "session.started": "Signed in",
  "sign_in_link.created": "Sign-in link created",
  "sign_in_link.used": "Sign-in link used",
  "totp.added": "Authenticator app added",
  "totp.removed": "Authenticator app removed",
  "voice_test.called": "Test call placed",
};

/** Says an action of the audit trail in words: `voice_file.created` as "Voice file created". */
export function describeAction(action: string): string {
  const sentence = sentences[action];
  if (sentence !== undefined) return sentence;
  const words = action.replaceAll(/[._]/g, " ").replace(/^ai /, "AI ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Returns the detail of an entry as labels and values in words. */
export function describeDetail(
  detail: Readonly<Record<string, unknown>>,
  formatTime: (at: string) => string,
): readonly (readonly [label: string, value: string])[] {
  return Object.entries(detail).map(([name, value]) => [
    describeAction(name),
    valueOf(value, formatTime),
  ]);
}

function valueOf(value: unknown, formatTime: (at: string) => string): string {
  if (value === null || value === "") return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value))
    return value.length === 0 ? "none" : value.map((one) => valueOf(one, formatTime)).join(", ");
  if (typeof value === "object")
    return describeDetail(value as Record<string, unknown>, formatTime)
      .map(([label, inner]) => `${label} ${inner}`)
      .join(", ");
  if (typeof value !== "string") return JSON.stringify(value);
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? formatTime(value) : value;
}
