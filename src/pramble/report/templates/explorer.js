(function () {
  "use strict";
  var data = JSON.parse(document.getElementById("tables").textContent);
  var get = function (id) { return document.getElementById(id); };
  var first = get("first"), second = get("second"), measure = get("measure");
  var byColumns = {};
  data.tables.forEach(function (table) { byColumns[table.columns.join()] = table; });

  function add(parent, tag, text, name) {
    var element = document.createElement(tag);
    if (text !== undefined) { element.textContent = text; }
    if (name) { element.className = name; }
    parent.appendChild(element);
    return element;
  }
  function fill(select, options) {
    var before = select.value;
    select.replaceChildren();
    options.forEach(function (one) { add(select, "option", one[1]).value = one[0]; });
    if (options.some(function (one) { return one[0] === before; })) { select.value = before; }
  }
  function title(place) {
    var column = data.columns[place];
    return column.label ? column.name + ": " + column.label : column.name;
  }
  function of(a, b) { return byColumns[a + "," + b] || byColumns[b + "," + a]; }
  function choices() {
    var a = Number(first.value), found = [["", "(nothing)"]];
    data.columns.forEach(function (column, b) {
      if (b !== a && of(a, b)) { found.push([String(b), title(b)]); }
    });
    fill(second, found);
    var table = second.value === "" ? byColumns[first.value] : of(a, Number(second.value));
    var ways = [["all", "per cent of all " + data.of]];
    ((table && table.within) || []).forEach(function (one) {
      ways.push(["within " + one[0], "per cent within " + data.columns[one[0]].name]);
    });
    ways.push(["count", data.of]);
    fill(measure, ways);
    show(table);
  }
  function figure(value, n) {
    if (measure.value === "count") { return Math.round(value * n).toLocaleString("en"); }
    return (100 * value).toFixed(1) + " %";
  }
  function show(table) {
    var body = get("cells"), top = get("top");
    body.replaceChildren();
    top.replaceChildren();
    if (!table) { return; }
    var cells = table.cells;
    (table.within || []).forEach(function (one) {
      if (measure.value === "within " + one[0]) { cells = one[1]; }
    });
    var inner = Number(first.value), outer = second.value === "" ? null : Number(second.value);
    var size = function (place) { return data.columns[place].categories.length; };
    var most = 0;
    cells.forEach(function (cell) { if (cell) { most = Math.max(most, cell[2]); } });
    get("about").textContent = title(inner) + (outer === null ? "" : ", by " + title(outer)) +
      " (" + table.n.toLocaleString("en") + " " + data.of + "; " +
      measure.options[measure.selectedIndex].text + ")";
    var head = add(top, "tr");
    ["", "", measure.value === "count" ? data.of : "share", "from", "to"].forEach(function (word) {
      add(head, "th", word);
    });
    for (var o = 0; o < (outer === null ? 1 : size(outer)); o += 1) {
      if (outer !== null) {
        var group = add(body, "tr", undefined, "group");
        add(group, "td", data.columns[outer].name + ": " + data.columns[outer].categories[o]).colSpan = 5;
      }
      for (var i = 0; i < size(inner); i += 1) {
        var place = outer === null ? i
          : table.columns[0] === outer ? o * size(inner) + i : i * size(outer) + o;
        line(body, data.columns[inner].categories[i], cells[place], most, table.n);
      }
    }
  }
  function line(body, name, cell, most, n) {
    var row = add(body, "tr");
    add(row, "td", name);
    var track = add(add(row, "td", undefined, "bars"), "span", undefined, "track");
    if (!cell) {
      add(row, "td", "no estimate").colSpan = 3;
      return;
    }
    if (cell[2] - cell[1] > cell[0]) { row.className = "faint"; }
    var scale = function (value) { return (most ? 100 * value / most : 0) + "%"; };
    var bar = add(track, "i"), interval = add(track, "u");
    bar.style.left = "0";
    bar.style.width = scale(cell[0]);
    interval.style.left = scale(cell[1]);
    interval.style.width = scale(cell[2] - cell[1]);
    cell.forEach(function (value) { add(row, "td", figure(value, n)); });
  }
  var known = [];
  data.columns.forEach(function (column, place) {
    if (byColumns[place]) { known.push([String(place), title(place)]); }
  });
  if (!known.length) { return; }
  fill(first, known);
  [first, second, measure].forEach(function (select) { select.addEventListener("change", choices); });
  get("explorer").hidden = false;
  choices();
}());
