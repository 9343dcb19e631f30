/** What happens in a call. */
export const call_events = [
  "call.initiated",
  "call.ringing",
  "call.answered",
  "call.bridged",
  "call.dtmf",
  "call.transferring",
  "call.transferred",
  "call.recording.ready",
  "call.completed",
] as const;
