// Fetches the recording that a link names, after the user agreed. In a document of its own: the page itself, which has the user's
// files, may connect to nobody but where it comes from.

addEventListener("message", async ({data, source, origin}) => {
  if (source !== parent || origin !== location.origin || typeof data?.url !== "string") {
    return;
  }
  const answer = (/** @type {object} */ reply) => parent.postMessage({fetched: data.url, ...reply}, location.origin);
  try {
    const response = await fetch(data.url, {credentials: "omit", referrerPolicy: "no-referrer"});
    if (!response.ok) {
      throw new Error(`the server answers ${response.status} ${response.statusText}`);
    }
    answer({blob: await response.blob()});
  } catch (error) {
    const why = error instanceof TypeError ? "it cannot be reached, or its server does not allow this page to read it (CORS)" : error;
    answer({error: why instanceof Error ? why.message : String(why)});
  }
});
parent.postMessage({fetched: "ready"}, location.origin);
