import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";

const shell = getRouteApi("/shell");

/** Returns a function that writes an instant of the API in the account's time zone. */
export function useTimeFormat(options: Intl.DateTimeFormatOptions = {}): (at: string) => string {
  const timeZone = shell.useRouteContext().me.account.time_zone;
  const { dateStyle = "medium", timeStyle = "short" } = options;
  return useMemo(() => {
    const format = new Intl.DateTimeFormat(undefined, { dateStyle, timeStyle, timeZone });
    return (at) => format.format(new Date(at));
  }, [dateStyle, timeStyle, timeZone]);
}

/** An instant in the account's time zone. */
export function Time({ at }: { readonly at: string }) {
  const format = useTimeFormat();
  return (
    <time dateTime={at} className="md:whitespace-nowrap">
      {format(at)}
    </time>
  );
}
