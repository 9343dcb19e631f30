// WhatsApp's business-scoped user IDs (BSUID), which identify a customer where the phone number is hidden.

/** The documented form: US.13491208655302741918, or US.ENT.11815799212886844830 for a parent ID. */
const documented = /^[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}$/;

/** Returns the BSUID that a user of the API names; null if the text is none in the documented form. */
export function parseBsuid(text: string): string | null {
  return documented.test(text) ? text : null;
}

/** Returns whether a provider's text can be a BSUID, of whatever form: anything but a phone number that can be stored. */
export function isBsuid(text: string): boolean {
  return /^[!-~]{1,160}$/.test(text) && !/^\+?\d+$/.test(text);
}

/** Returns the identity that an address is: a BSUID, or the digits of a phone number. */
export function identityOf(address: string): { phone: string | null; bsuid: string | null } {
  return isBsuid(address) ? { phone: null, bsuid: address } : { phone: address, bsuid: null };
}
