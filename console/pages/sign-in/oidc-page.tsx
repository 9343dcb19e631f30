import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { FormError } from "../../ui/form-error.tsx";
import { AccountChoice } from "./account-choice.tsx";
import { CodeForm, needsCode } from "./code-form.tsx";
import { keptTarget } from "./oidc-target.ts";
import { SignInFrame } from "./sign-in-frame.tsx";
import { useSignIn } from "./use-sign-in.ts";

/** Where the identity provider returns to: ends the sign-in. */
export function OidcPage() {
  const [answer] = useState(() => location.search.slice(1));
  const target = keptTarget();
  const signIn = useSignIn(target);
  useEffect(() => {
    // The answer belongs neither in the address bar nor in the history.
    history.replaceState(history.state, "", location.pathname);
    signIn.mutate({ answer });
  }, []);
  if (needsCode(signIn))
    return (
      <SignInFrame title="One more step">
        <CodeForm signIn={signIn} />
      </SignInFrame>
    );
  if (signIn.data?.signed_in === false)
    return (
      <SignInFrame title="Choose an account">
        <AccountChoice choices={signIn.data.choices} signIn={signIn} />
      </SignInFrame>
    );
  return (
    <SignInFrame title="Sign in">
      {signIn.error ? (
        <>
          <FormError error={signIn.error} />
          <Link to="/sign-in" search={{ to: target }} className="text-accent underline">
            Back to the sign-in
          </Link>
        </>
      ) : (
        <p className="text-muted">Signing you in…</p>
      )}
    </SignInFrame>
  );
}
