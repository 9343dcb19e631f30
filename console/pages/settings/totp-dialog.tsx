import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useForm } from "react-hook-form";
import { queryClient } from "../../api/query-client.ts";
import { confirmTotp, createTotp, totpQuery, type NewTotp } from "../../api/totp.ts";
import { Button } from "../../ui/button.tsx";
import { CopyField } from "../../ui/copy-field.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { QrCode } from "../../ui/qr-code.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";

const shell = getRouteApi("/shell");

/** Sets up an authenticator app: the password, the app's first code, and the recovery codes. */
export function TotpDialog() {
  const [open, setOpen] = useState(false);
  const [totp, setTotp] = useState<NewTotp | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const onOpenChange = (is_open: boolean) => {
    setOpen(is_open);
    if (is_open) return;
    setTotp(null);
    setCodes(null);
    void queryClient.invalidateQueries({ queryKey: totpQuery.queryKey });
  };
  return (
    <Dialog
      title={codes ? "Keep these recovery codes" : "Set up an authenticator app"}
      trigger={
        <Button kind="primary" className="self-start">
          Set up
        </Button>
      }
      open={open}
      onOpenChange={onOpenChange}
    >
      {codes ? (
        <RecoveryCodes codes={codes} onDone={() => onOpenChange(false)} />
      ) : totp ? (
        <ConfirmForm totp={totp} onConfirmed={setCodes} />
      ) : (
        <PasswordForm onBegun={setTotp} />
      )}
    </Dialog>
  );
}

function PasswordForm({ onBegun }: { readonly onBegun: (totp: NewTotp) => void }) {
  const { me } = shell.useRouteContext();
  const { register, handleSubmit, setError, formState } = useForm({
    defaultValues: { current_password: "" },
  });
  const [failure, setFailure] = useState<Error | null>(null);
  const submit = handleSubmit(({ current_password }) =>
    createTotp(current_password)
      .then(onBegun)
      .catch((error: unknown) =>
        setFailure(showFieldErrors(error as Error, ["current_password"], setError)),
      ),
  );
  return (
    <form className="flex flex-col gap-4" noValidate onSubmit={(event) => void submit(event)}>
      {me.has_password && (
        <TextField
          label="Your password"
          type="password"
          autoComplete="current-password"
          error={formState.errors.current_password?.message}
          {...register("current_password", { required: "Enter your password" })}
        />
      )}
      <FormError error={failure} />
      <Button type="submit" kind="primary" className="self-end" busy={formState.isSubmitting}>
        Continue
      </Button>
    </form>
  );
}

function ConfirmForm({
  totp: { uri, secret },
  onConfirmed,
}: {
  readonly totp: NewTotp;
  readonly onConfirmed: (codes: readonly string[]) => void;
}) {
  const { register, handleSubmit, setError, formState } = useForm<{ code: string }>();
  const [failure, setFailure] = useState<Error | null>(null);
  const submit = handleSubmit(({ code }) =>
    confirmTotp(code)
      .then(onConfirmed)
      .catch((error: unknown) => setFailure(showFieldErrors(error as Error, ["code"], setError))),
  );
  return (
    <form className="flex flex-col gap-4" noValidate onSubmit={(event) => void submit(event)}>
      <p>Scan this with an authenticator app, or type the key into it. Then enter its code.</p>
      <QrCode text={uri} label="The key as a QR code" />
      <CopyField label="Key" name="secret" text={secret} />
      <TextField
        label="Code"
        autoFocus
        inputMode="numeric"
        autoComplete="one-time-code"
        error={formState.errors.code?.message}
        {...register("code", {
          validate: (code) => /^[\d\s]{6,}$/.test(code) || "Enter the six digits",
        })}
      />
      <FormError error={failure} />
      <Button type="submit" kind="primary" className="self-end" busy={formState.isSubmitting}>
        Confirm
      </Button>
    </form>
  );
}

function RecoveryCodes({
  codes,
  onDone,
}: {
  readonly codes: readonly string[];
  readonly onDone: () => void;
}) {
  return (
    <>
      <p>
        Each signs you in once if you lose the app. Keep them where the phone is not; they are not
        shown again.
      </p>
      <ul
        aria-label="Recovery codes"
        className="border-line grid grid-cols-1 gap-1 rounded-lg border p-3 font-mono sm:grid-cols-2"
      >
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="flex justify-end gap-2">
        <Button onClick={() => void navigator.clipboard.writeText(codes.join("\n"))}>Copy</Button>
        <Button kind="primary" onClick={onDone}>
          I have kept them
        </Button>
      </div>
    </>
  );
}
