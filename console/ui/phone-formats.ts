import { getRouteApi } from "@tanstack/react-router";

const shell = getRouteApi("/shell");

/** How phone numbers are written, in the same words at every field. */
export function usePhoneFormats() {
  const { country_code } = shell.useRouteContext().me.account;
  return {
    /** Where only numbers of the account's country are taken. */
    national: `Ten digits, with or without +${country_code}.`,
    /** Where numbers of every country are taken. */
    any: `Ten digits of +${country_code}, or + and the country code.`,
  };
}
