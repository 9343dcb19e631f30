const extension = /^[0-9]{2,6}$/;

/** Whether a number that somebody answers for the account at is an extension; else it is a phone. */
export function isExtension(number: string): boolean {
  return extension.test(number);
}
