// A Worker for pages of the file system, where browsers allow none: the script runs in a hidden
// frame. The theme's search asks for it.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      const load = source => new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        script.src = new URL(source, document.baseURI);
        script.onload = done;
        script.onerror = failed;
        inside.document.body.append(script);
      });
      inside.postMessage = data => this.tell(this, data);
      inside.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve());
      this.ready = load(url);
    }
    tell(target, data) {
      const event = new MessageEvent("message", {data});
      target.dispatchEvent(event);
      if (target === this) this.onmessage?.(event);
    }
    postMessage(data) { this.ready.then(() => this.tell(this.frame.contentWindow, data)); }
    terminate() { this.frame.remove(); }
  };
