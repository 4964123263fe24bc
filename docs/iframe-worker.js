/* A page that is opened as a file may start no worker, which the search needs. Its script then runs
   in a hidden frame. The name of this file in mkdocs.yml tells the plugin offline to fetch none. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = Object.assign(document.createElement("iframe"), { hidden: true, title: "Search" });
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      this.frame = inside;
      this.loaded = new Promise((done) => (script.onload = done));
      script.src = address;
      inside.document.body.append(script);
    }

    async postMessage(data) {
      await this.loaded;
      this.frame.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.frameElement.remove();
    }
  };
}
