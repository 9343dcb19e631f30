import { getRouteApi } from "@tanstack/react-router";
import { AccountChoice } from "./account-choice.tsx";
import { CodeForm, needsCode } from "./code-form.tsx";
import { LinkForm } from "./link-form.tsx";
import { OidcButton } from "./oidc-button.tsx";
import { PasskeyButton } from "./passkey-button.tsx";
import { PasswordForm } from "./password-form.tsx";
import { SignInFrame } from "./sign-in-frame.tsx";
import { useLinkSecret, useSignIn } from "./use-sign-in.ts";

const route = getRouteApi("/sign-in");

/** Signs in with a password or with a link. */
export function SignInPage() {
  const { to = "/" } = route.useSearch();
  const link = useLinkSecret();
  const signIn = useSignIn(to);
  const choices = signIn.data?.signed_in === false ? signIn.data.choices : null;
  if (needsCode(signIn))
    return (
      <SignInFrame title="One more step">
        <CodeForm signIn={signIn} />
      </SignInFrame>
    );
  if (choices)
    return (
      <SignInFrame title="Choose an account">
        <AccountChoice choices={choices} signIn={signIn} />
      </SignInFrame>
    );
  return link ? (
    <SignInFrame title="Welcome">
      <LinkForm link={link} signIn={signIn} />
    </SignInFrame>
  ) : (
    <SignInFrame title="Sign in">
      <PasswordForm signIn={signIn} />
      <div className="border-line flex flex-col gap-3 border-t pt-6 empty:hidden">
        <PasskeyButton signIn={signIn} />
        <OidcButton to={to} />
      </div>
    </SignInFrame>
  );
}
