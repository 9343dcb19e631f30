// What the far end that sipp plays does with a call, told by the number that was dialled: by the
// first four of its last ten digits, and for some by the digits behind them. SS: two digits, seconds.
// The numbers are possible Indian mobile numbers, with or without +91. Every other number, and every
// other user ("agent1"), is answered after 200 ms; whatever it hears it sends back.

/** Refused with this SIP answer. 7486… → 486, 7503… → 503 and so on. */
export const refusals: readonly {
  readonly status: number;
  readonly reason: string;
  /** Rings before, as a person who declines does. */
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

/** The first four digits of a number that is not refused. */
export const far_end = {
  /** 7180: rings until it is cancelled. */
  rings_on: "7180",
  /** 7183: 183 with audio, answers after 2 s. */
  early_media: "7183",
  /** 7201SS: answers and hangs up after SS s, without saying why. */
  hangs_up: "7201",
  /** 7202: answers and presses 1, 9 and #, from 0.8 s on. */
  presses_1_9_hash: "7202",
  /** 7203SS: rings for SS s before it answers. */
  answers_late: "7203",
  /** 7204DSS: answers and after SS s presses the digit D, told by SIP INFO. */
  presses_by_info: "7204",
  /** 7208SS: as 7201, and says that it was a normal end (Reason: Q.850;cause=16). */
  hangs_up_with_reason: "7208",
  /** 7210DSS: answers and after SS s presses the digit D. What it sends back meanwhile makes it more keys. */
  presses: "7210",
  /** 7211DSS: answers and after SS s presses * and then D. */
  presses_star_and: "7211",
  /** 7212SS: answers and after SS s presses *. */
  presses_star: "7212",
  /** 7213SS: answers and after SS s presses #. */
  presses_hash: "7213",
  /** 7214SSNDDD: answers and after SS s each presses N of the digits D, told by SIP INFO. */
  presses_in_turn: "7214",
  /** 7220: answers and speaks without end, where others only send back what they hear. */
  speaks: "7220",
  /** 7221: answers, says nothing and sends nothing back, not even keys. */
  listens: "7221",
  /** 7222: answers, says a short word, and then waits in silence, as people do. */
  says_hello: "7222",
  /** 7223: answers and speaks for ten seconds without a pause, as machines do. */
  greets_long: "7223",
  /** 7224PPPPP: answers; its sound comes to the UDP port P of 127.0.0.1, and from there (told-phone.ts). */
  scripted: "7224",
  /** 7230: never says anything, as a carrier that is gone. */
  silent: "7230",
} as const;

/** `7210` + `5` + 2 s → 7210502000: a number that is steered so, of ten digits. */
export function farEnd(kind: keyof typeof far_end, after_seconds = 0, digit = ""): string {
  return `${far_end[kind]}${digit}${String(after_seconds).padStart(2, "0")}`.padEnd(10, "0");
}

/** `246` every 2 s → 7214023246. Up to three digits. */
export function pressingInTurn(digits: string, every_seconds: number): string {
  const seconds = String(every_seconds).padStart(2, "0");
  return `${far_end.presses_in_turn}${seconds}${digits.length}${digits}`.padEnd(10, "0");
}

/** 486 → 7486000000: a number that is refused so. */
export function refusing(status: number): string {
  return `7${status}000000`;
}
