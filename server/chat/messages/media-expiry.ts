const day_ms = 86_400_000;
const kept_days = 30;

/**
 * Whether the provider has deleted a file that it got at `uploaded_at`: it keeps one for 30 days
 * (https://developers.facebook.com/docs/whatsapp/cloud-api/reference/media).
 */
export function isMediaExpired(uploaded_at: Date, now: Date): boolean {
  return now.getTime() - uploaded_at.getTime() >= kept_days * day_ms;
}
