// A browser starts no Worker from file://. There the search of the site runs in a hidden frame,
// which Material for MkDocs takes for its Worker. A server needs nothing of this.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      // What the script posts goes to the page, and what the page posts to the script.
      inside.postMessage = (data) =>
        setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })));
      this.inside = new Promise((loaded) => {
        const script = inside.document.createElement("script");
        script.src = url;
        script.onload = () => loaded(inside);
        inside.document.body.append(script);
      });
    }

    postMessage(data) {
      this.inside.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
