import type { FieldError, UseFormRegisterReturn } from "react-hook-form";
import { TextField } from "../../ui/text-field.tsx";

/** Of a form with the field `account`. */
export const account_rule = {
  pattern: { value: /^\s*[0-9]{0,15}\s*$/, message: "Enter digits only" },
} as const;

/** Names one account of a person of more than are looked at without it. */
export function AccountNumber({
  error,
  ...field
}: UseFormRegisterReturn & { readonly error: FieldError | undefined }) {
  return <TextField label="Account number" inputMode="numeric" error={error?.message} {...field} />;
}

/** The account number under a summary, because few people need it. */
export function OptionalAccountNumber(field: Parameters<typeof AccountNumber>[0]) {
  return (
    <details>
      <summary className="text-muted cursor-pointer text-xs">
        A user of more than ten accounts?
      </summary>
      <div className="mt-3">
        <AccountNumber {...field} />
      </div>
    </details>
  );
}

/** Returns what the request has of the field. */
export const accountOf = (account: string): { readonly account_id?: number } =>
  account.trim() === "" ? {} : { account_id: Number(account) };
