// The built-in message to a caller when no agent is free, in the language of the campaign's texts.
import type { Menu, MenuNode, Prompt } from "./menu.ts";
import type { VoiceContent } from "./voice-plan.ts";

type Text = Extract<Prompt, { readonly say: string }>;

/** That all agents are busy; how to be called back; else to call again; what confirms a callback. */
type Sentences = readonly [busy: string, offer: string, later: string, confirmation: string];

const english: Sentences = [
  "I am sorry, all our agents are busy.",
  "To be called back, press 1.",
  "Please try again later.",
  "Thank you. We will call you back.",
];

/** By language subtag; any other language gets English. */
const translations: Readonly<Record<string, Sentences>> = {
  en: english,
  ar: [
    "نعتذر، جميع موظفينا مشغولون الآن.",
    "لكي نعاود الاتصال بك، اضغط 1.",
    "يرجى المحاولة لاحقًا.",
    "شكرًا لك. سنعاود الاتصال بك.",
  ],
  bn: [
    "দুঃখিত, আমাদের সব প্রতিনিধি ব্যস্ত আছেন।",
    "ফিরতি কল পেতে 1 চাপুন।",
    "অনুগ্রহ করে পরে আবার চেষ্টা করুন।",
    "ধন্যবাদ। আমরা আপনাকে আবার কল করব।",
  ],
  de: [
    "Leider sind alle unsere Mitarbeiter im Gespräch.",
    "Für einen Rückruf drücken Sie die 1.",
    "Bitte versuchen Sie es später noch einmal.",
    "Vielen Dank. Wir rufen Sie zurück.",
  ],
  es: [
    "Lo sentimos, todos nuestros agentes están ocupados.",
    "Para que le devolvamos la llamada, pulse 1.",
    "Por favor, inténtelo de nuevo más tarde.",
    "Gracias. Le devolveremos la llamada.",
  ],
  fr: [
    "Nous sommes désolés, tous nos conseillers sont occupés.",
    "Pour être rappelé, appuyez sur 1.",
    "Veuillez réessayer plus tard.",
    "Merci. Nous vous rappellerons.",
  ],
  hi: [
    "क्षमा करें, हमारे सभी एजेंट व्यस्त हैं।",
    "वापस कॉल पाने के लिए 1 दबाएँ।",
    "कृपया बाद में फिर प्रयास करें।",
    "धन्यवाद। हम आपको वापस कॉल करेंगे।",
  ],
  id: [
    "Maaf, semua petugas kami sedang sibuk.",
    "Untuk ditelepon kembali, tekan 1.",
    "Silakan coba lagi nanti.",
    "Terima kasih. Kami akan menelepon Anda kembali.",
  ],
  it: [
    "Ci dispiace, tutti i nostri operatori sono occupati.",
    "Per essere richiamato, prema 1.",
    "La preghiamo di riprovare più tardi.",
    "Grazie. La richiameremo.",
  ],
  mr: [
    "क्षमस्व, आमचे सर्व प्रतिनिधी व्यस्त आहेत.",
    "परत कॉल हवा असल्यास 1 दाबा.",
    "कृपया नंतर पुन्हा प्रयत्न करा.",
    "धन्यवाद. आम्ही तुम्हाला परत कॉल करू.",
  ],
  nl: [
    "Helaas zijn al onze medewerkers in gesprek.",
    "Toets 1 om te worden teruggebeld.",
    "Probeer het later opnieuw.",
    "Dank u. Wij bellen u terug.",
  ],
  pt: [
    "Lamentamos, todos os nossos atendentes estão ocupados.",
    "Para receber uma ligação de volta, pressione 1.",
    "Por favor, tente novamente mais tarde.",
    "Obrigado. Ligaremos de volta.",
  ],
  ta: [
    "மன்னிக்கவும், எங்கள் முகவர்கள் அனைவரும் வேலையாக உள்ளனர்.",
    "திரும்ப அழைப்பு பெற 1 ஐ அழுத்தவும்.",
    "தயவுசெய்து பிறகு மீண்டும் முயற்சிக்கவும்.",
    "நன்றி. நாங்கள் உங்களை மீண்டும் அழைப்போம்.",
  ],
  te: [
    "క్షమించండి, మా ఏజెంట్లందరూ బిజీగా ఉన్నారు.",
    "తిరిగి కాల్ పొందడానికి 1 నొక్కండి.",
    "దయచేసి తర్వాత మళ్లీ ప్రయత్నించండి.",
    "ధన్యవాదాలు. మేము మీకు తిరిగి కాల్ చేస్తాము.",
  ],
};

/** The built-in texts: the message that offers a callback, the one that does not, and the confirmation. */
type BusyTexts = { readonly offer: Text; readonly message: Text; readonly confirmation: Text };

/** Returns the built-in texts in the language of the menu's node, else of the first text of the content. */
export function busyTexts(content: VoiceContent, node: MenuNode | null): BusyTexts {
  const wanted = languageOf(content, node);
  const subtag = wanted.split("-")[0]!.toLowerCase();
  const isKnown = Object.hasOwn(translations, subtag);
  const [busy, offer, later, confirmation] = isKnown ? translations[subtag]! : english;
  const text = (say: string): Text => ({ say, language: isKnown ? wanted : "en" });
  return {
    offer: text(`${busy} ${offer}`),
    message: text(`${busy} ${later}`),
    confirmation: text(confirmation),
  };
}

/** Returns the built-in texts that a call with this content may play; without the message if the account has its own. */
export function allBusyTexts(content: VoiceContent, hasOwnMessage: boolean): Text[] {
  return silentTransfersOf(content).flatMap(({ node, end }) => {
    const { offer, message, confirmation } = busyTexts(content, node);
    if (end === "callback") return [confirmation];
    if (end === "opt_out") return hasOwnMessage ? [] : [message];
    return hasOwnMessage ? [confirmation] : [offer, message, confirmation];
  });
}

type Setter = MenuNode & { type: "set_field" };
type SilentEnd = {
  readonly type: "hang_up" | "callback" | "opt_out";
  readonly setters: readonly Setter[];
};

/**
 * Returns the end without a prompt that this node leads to, and the nodes that set fields on the way; null if the
 * way leads elsewhere. It ends, because no menu has a loop without a prompt.
 */
export function silentEnd(menu: Menu, name: string): SilentEnd | null {
  const node = menu.nodes[name]!;
  if (node.type === "hang_up" || node.type === "callback" || node.type === "opt_out")
    return node.prompt === null ? { type: node.type, setters: [] } : null;
  if (node.type !== "set_field") return null;
  const end = silentEnd(menu, node.next);
  return end && { ...end, setters: [node, ...end.setters] };
}

/** Returns the nodes after which a built-in text plays to a caller without an agent; null: an AI agent's transfer. */
function silentTransfersOf(
  content: VoiceContent,
): { readonly node: MenuNode | null; readonly end: SilentEnd["type"] }[] {
  if (content.call_type === "ai_bot")
    return content.transfer_to === null ? [] : [{ node: null, end: "hang_up" }];
  if (content.call_type !== "obd_ivr") return [];
  const { menu } = content;
  return Object.values(menu.nodes).flatMap((node) => {
    const end = node.type === "transfer" ? silentEnd(menu, node.otherwise) : null;
    return end ? [{ node, end: end.type }] : [];
  });
}

function languageOf(content: VoiceContent, node: MenuNode | null): string {
  if (content.call_type === "ai_bot") return content.agent.language;
  if (content.call_type !== "obd_ivr") return "en";
  const { start, nodes } = content.menu;
  const [first] = [node, nodes[start]!, ...Object.values(nodes)].flatMap((each) =>
    each && "prompt" in each && each.prompt && "say" in each.prompt ? [each.prompt.language] : [],
  );
  return first ?? "en";
}
