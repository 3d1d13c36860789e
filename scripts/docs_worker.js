// From disk a browser starts no workers: the search runs in a hidden frame instead, and asks no host for anything.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe"), waiting = [], base = new URL(address, document.baseURI);
      frame.hidden = true;
      document.body.append(frame);
      const inner = frame.contentWindow, page = inner.document;
      page.open();
      page.write("<!doctype html><html><body></body></html>");
      page.close();
      const load = (url) => new Promise((done, failed) => {
        const script = page.createElement("script");
        script.src = new URL(url, base).href;
        script.onload = done;
        script.onerror = failed;
        page.body.append(script);
      });
      inner.importScripts = (...urls) => urls.reduce((before, url) => before.then(() => load(url)), Promise.resolve());
      inner.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      const send = (data) => inner.dispatchEvent(new inner.MessageEvent("message", { data }));
      this.postMessage = (data) => waiting.push(data);
      load(base.href).then(() => {
        this.postMessage = send;
        waiting.forEach(send);
      });
    }

    terminate() {}
  };
  window.Worker = window.IFrameWorker;
}
