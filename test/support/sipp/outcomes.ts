// The behavior of SIPp as far end, selected by the dialed number: by the first four of its last ten
// digits, for some also by the following digits (SS: seconds). The numbers are possible Indian mobile
// numbers. Any other number or user ("agent1") is answered after 200 ms, and its audio is echoed.

/** Refused with this SIP status: 7486… → 486, 7503… → 503 and so on. */
export const refusals: readonly {
  readonly status: number;
  readonly reason: string;
  /** Rings first, as when a person declines. */
  readonly rings?: boolean;
  readonly header?: string;
}[] = [
  { status: 486, reason: "Busy Here", rings: true },
  { status: 600, reason: "Busy Everywhere" },
  {
    status: 603,
    reason: "Decline",
    rings: true,
    header: 'Reason: Q.850;cause=21;text="rejected"',
  },
  { status: 403, reason: "Forbidden" },
  { status: 480, reason: "Temporarily Unavailable", rings: true },
  { status: 503, reason: "Service Unavailable", header: "Retry-After: 5" },
  { status: 404, reason: "Not Found" },
  { status: 484, reason: "Address Incomplete" },
  { status: 410, reason: "Gone" },
  { status: 408, reason: "Request Timeout" },
  { status: 500, reason: "Server Internal Error" },
  { status: 502, reason: "Bad Gateway" },
  { status: 488, reason: "Not Acceptable Here" },
  { status: 607, reason: "Unwanted" },
];

/** The first four digits of numbers with other behavior. */
export const far_end = {
  /** 7180: rings until it is cancelled. */
  rings_on: "7180",
  /** 7183: 183 with audio, answers after 2 s. */
  early_media: "7183",
  /** 7201SS: answers and hangs up after SS s, without a reason. */
  hangs_up: "7201",
  /** 7202: answers and presses 1, 9 and #, from 0.8 s on. */
  presses_1_9_hash: "7202",
  /** 7203SS: rings for SS s before it answers. */
  answers_late: "7203",
  /** 7204DSS: answers and after SS s presses the digit D by SIP INFO. */
  presses_by_info: "7204",
  /** 7208SS: as 7201, with the header `Reason: Q.850;cause=16`. */
  hangs_up_with_reason: "7208",
  /** 7210DSS: answers and after SS s presses the digit D; the echoed audio makes it several keys. */
  presses: "7210",
  /** 7211DSS: answers and after SS s presses * and then D. */
  presses_star_and: "7211",
  /** 7212SS: answers and after SS s presses *. */
  presses_star: "7212",
  /** 7213SS: answers and after SS s presses #. */
  presses_hash: "7213",
  /** 7214SSNDDD: answers and presses N of the digits D by SIP INFO, each after SS s. */
  presses_sequence: "7214",
  /** 7220: answers and speaks without end, instead of echoing. */
  speaks: "7220",
  /** 7221: answers, is silent and echoes nothing, not even keys. */
  listens: "7221",
  /** 7222: answers with a short word and then is silent, like a person. */
  says_hello: "7222",
  /** 7223: answers and speaks for ten seconds without a pause, like a machine. */
  greets_long: "7223",
  /** 7224PPPPP: answers; exchanges its audio with UDP port P of 127.0.0.1 (scripted-phone.ts). */
  scripted: "7224",
  /** 7230: never responds, like a carrier that is down. */
  silent: "7230",
} as const;

/** Returns the ten-digit number for a behavior: `7210` + `5` + 2 s → 7210502000. */
export function farEnd(kind: keyof typeof far_end, after_seconds = 0, digit = ""): string {
  return `${far_end[kind]}${digit}${String(after_seconds).padStart(2, "0")}`.padEnd(10, "0");
}

/** Returns the number of a far end that presses up to three digits: `246` every 2 s → 7214023246. */
export function pressingSequence(digits: string, every_seconds: number): string {
  const seconds = String(every_seconds).padStart(2, "0");
  return `${far_end.presses_sequence}${seconds}${digits.length}${digits}`.padEnd(10, "0");
}

/** Returns a number that is refused with this status: 486 → 7486000000. */
export function refusing(status: number): string {
  return `7${status}000000`;
}
