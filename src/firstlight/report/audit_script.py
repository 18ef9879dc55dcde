"""What the page of an audit does: shows the findings that somebody wants to see. Without it, all are there."""

SCRIPT = """
(function () {
  'use strict';
  var bar = document.getElementById('filter');
  var findings = Array.from(document.querySelectorAll('article.finding'));
  var groups = Array.from(document.querySelectorAll('section.rule'));
  var none = document.getElementById('none');
  var shown = document.getElementById('shown');
  var cluster = bar.querySelector('[name=cluster]');
  var rule = bar.querySelector('[name=rule]');
  var text = bar.querySelector('[name=text]');
  var only = null;
  var boxes = Array.from(bar.querySelectorAll('[name=severity]'));
  var texts = new Map(findings.map(function (each) {
    var head = each.closest('section').querySelector('.head');
    return [each, (head.textContent + ' ' + each.textContent).toLowerCase()];
  }));
  function apply() {
    var severities = new Set(boxes.filter(function (each) { return each.checked; }).map(function (each) {
      return each.value;
    }));
    var wanted = text.value.trim().toLowerCase();
    var count = 0;
    findings.forEach(function (each) {
      var clusters = each.dataset.clusters;
      var isShown = severities.has(each.dataset.severity) &&
        (!rule.value || each.dataset.rule === rule.value) &&
        (!only || only.has(each.dataset.rule)) &&
        (!cluster.value || !clusters || clusters.split(' ').includes(cluster.value)) &&
        (!wanted || texts.get(each).includes(wanted));
      each.hidden = !isShown;
      count += isShown ? 1 : 0;
    });
    groups.forEach(function (each) { each.hidden = !each.querySelector('article.finding:not([hidden])'); });
    none.hidden = count > 0 || !findings.length;
    shown.textContent = count === findings.length ? '' : count + ' of ' + findings.length;
  }
  function reset() {
    boxes.forEach(function (each) { each.checked = true; });
    cluster.value = rule.value = text.value = '';
    only = null;
    apply();
  }
  bar.addEventListener('input', function (event) {
    if (event.target === rule) { only = null; }
    apply();
  });
  bar.querySelector('button').addEventListener('click', reset);
  Array.from(document.querySelectorAll('a[data-rules]')).forEach(function (each) {
    each.addEventListener('click', function () {
      reset();
      only = new Set(each.dataset.rules.split(' '));
      cluster.value = each.dataset.cluster || '';
      apply();
    });
  });
  bar.hidden = !findings.length;
  apply();
})();
""".strip()
