const extension = /^[0-9]{2,6}$/;

/** Returns whether an agent's number is an extension; otherwise it is a phone number. */
export function isExtension(number: string): boolean {
  return extension.test(number);
}
