import assert from "node:assert/strict";
import { test } from "node:test";
import { openConsentReader } from "./stop-words.ts";

const consentOf = openConsentReader(["Genug jetzt", "Cancel"]);
const reply = (text: string | null, type = "text", payload: string | null = null) =>
  consentOf({ type, text, payload });

test("a reply that begins or ends with a stop word opts out, however it is written", () => {
  for (const text of [
    "STOP",
    "stop!",
    "STOP.",
    "Stop please",
    "please, STOP",
    "\uff33\uff54\uff4f\uff50",
    "s\u200bto\u00adp\ufe0f",
    "\u{1f6d1} stop \u{1f6d1}",
    "un-subscribe".replace("-", ""),
    "Opt-out",
    "  genug   JETZT bitte",
    "रोको",
    "मैसेज भेजना बंद करो",
    "स्टॉप।",
    "band karo",
    "বন্ধ করুন",
    "நிறுத்து",
    "ఆపండి",
    "ನಿಲ್ಲಿಸಿ",
    "നിർത്തുക",
    "રોકો",
    "ਬੰਦ ਕਰੋ",
    "روکو",
    "no quiero más, darme de baja",
    "CANCELAR SUSCRIPCION",
    "descadastrar por favor",
    "Arrêtez !",
    "arreter",
    "Bitte abmelden",
    "إيقاف",
    "ايقاف",
    "نرجو إلغاء الاشتراك",
    "berhenti",
    "Отписаться",
    "退订",
    "停止してください",
    "หยุดส่งข้อความ",
    `${"and so on ".repeat(900)} stop`,
    "end",
    "QUIT.",
    "बंद",
  ])
    assert.equal(reply(text), "stop", text);
});

test("a stop word opts out after please, as the end of a request and without apostrophe or diacritics", () => {
  for (const text of [
    "dont contact me",
    "DONT MESSAGE ME",
    "Please don\u2019t text me again",
    "Don\u00b4t message me",
    "don\u02bct contact me",
    "Merci d\u2019arrêter",
    "Please stop messaging me",
    "pls stop sending msgs",
    "Kindly, please: stop these messages",
    "plz unsubscribe me",
    "please quit",
    "stop texting me",
    "Can you stop texting me?",
    "I asked you to stop sending me messages!",
    "I want no more messages",
    "huy dang ky",
    "HỦY ĐĂNG KÝ",
    "xin hủy dang ky",
    // The yeh and kaf of an Arabic keyboard in Persian and Urdu, and of a Persian one in Arabic.
    "\u0644\u063a\u0648 \u0639\u0636\u0648\u064a\u062a",
    "\u0644\u063a\u0648 \u0627\u0634\u062a\u0631\u0627\u0643",
    "\u0628\u0646\u062f \u0643\u0631\u064a\u06ba",
    "\u0627\u06cc\u0642\u0627\u0641",
    "수신 거부",
    "수신거부",
  ])
    assert.equal(reply(text), "stop", text);
  const own = openConsentReader(["wyłącz"]);
  for (const text of ["wylacz", "Please wyłącz to"])
    assert.equal(own({ type: "text", text, payload: null }), "stop", text);
});

test("a stop word within a sentence, and a word that only may mean one, opts no one out", () => {
  for (const text of [
    "Does it stop here or there?",
    "When does the sale end?",
    "The shop is बंद today",
    "unstoppable",
    "acha",
    "ok pare",
    "When will you stop sending the parcel?",
    "Can you stop the courier today?",
    "Why don't you message me?",
    "Please send me the messages",
    "Please say when the sale ends",
    "please",
    // "Right", and not "stop".
    "Đúng",
    "",
    "\u200b",
  ])
    assert.equal(reply(text), null, text);
  assert.equal(openConsentReader([])({ type: "text", text: "Cancel", payload: null }), null);
});

test("a button opts out only if its payload is a built-in stop word, also where the account adds its text", () => {
  assert.equal(reply("Cancel", "button", "Cancel"), null);
  assert.equal(reply("Cancel"), "stop");
  assert.equal(reply("Stop the delivery", "button", "Stop the delivery"), null);
  assert.equal(reply("Stop promotions", "button", "Stop promotions"), "stop");
  for (const pressed of [
    "Detener promociones",
    "Parar promoções",
    "Interrompi promozioni",
    "प्रमोशन बंद करें",
    "إيقاف العروض",
    "Остановить рекламу",
    "停止推广",
    "프로모션 중지",
  ])
    assert.equal(reply(pressed, "button", pressed), "stop", pressed);
  assert.equal(reply("No more", "button", "STOP"), "stop");
  assert.equal(reply("Stop", "button", "next_step"), null);
  assert.equal(reply("No more", "interactive", "unsubscribe"), "stop");
});

test("only START as the whole of a typed reply opts in again", () => {
  for (const text of ["START", "start.", "शुरू करें", "ابدأ"]) assert.equal(reply(text), "start", text);
  for (const text of ["start now", "please start", "When does it start", "restart"])
    assert.equal(reply(text), null, text);
  assert.equal(reply("Start", "button", "Start"), null);
});

test("a caption can opt out, and a message without a text cannot", () => {
  assert.equal(reply("STOP", "image"), "stop");
  assert.equal(reply(null, "sticker"), null);
});
