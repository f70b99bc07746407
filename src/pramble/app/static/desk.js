// What plain HTML controls say to the server: [data-sends="input id"] tells its value, with its
// data-about, as soon as it is changed; a button with data-form tells all named controls of the
// form around it. A range tells while it moves.
(() => {
  const words = (box) =>
    [...box.closest("fieldset").querySelectorAll("[data-word]:checked")].map((one) => one.dataset.word);
  const value = (control) => {
    if (control.dataset.word !== undefined) return words(control);
    return control.type === "checkbox" ? control.checked : control.value;
  };
  const whole = (button) => {
    const named = [...button.closest(".form").querySelectorAll("[name]")];
    return Object.fromEntries(named.map((one) => [one.name, value(one)]));
  };
  const tell = (control) => {
    const about = control.dataset.about;
    const own = control.dataset.form === undefined ? value(control) : whole(control);
    const sent = about === undefined ? own : { about, value: own };
    window.Shiny.setInputValue(control.dataset.sends, sent, { priority: "event" });
  };
  const heard = (event, kinds) => {
    const control = event.target.closest?.("[data-sends]");
    if (control && kinds.includes(control.tagName) && window.Shiny?.setInputValue) tell(control);
  };
  document.addEventListener("change", (event) => heard(event, ["SELECT", "INPUT", "TEXTAREA"]));
  document.addEventListener("click", (event) => heard(event, ["BUTTON"]));
  document.addEventListener("input", (event) => {
    const control = event.target;
    if (control.type !== "range" || !control.dataset.words) return;
    const words = JSON.parse(control.dataset.words)[control.value];
    control.setAttribute("aria-valuetext", words);
    const shown = document.getElementById(control.id + "-words");
    if (shown) shown.textContent = words;
    clearTimeout(control.waiting);
    control.waiting = setTimeout(() => tell(control), 120);
  });
})();
