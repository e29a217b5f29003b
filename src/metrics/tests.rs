//! Rules, budgets and differences, on made-up statistics.

use super::budget::Budget;
use super::check::{Outcome, check};
use super::diff::{DiffOptions, Direction, diff};
use super::rule::{Limit, Pattern, Rule};
use super::{Figure, Losses, Nature, figures, list, text};
use crate::stats::SpreadReport;
use crate::stats::report::{
    CoreReport, FunctionReport, InterruptReport, Number, ObjectReport, StatisticsReport, TaskOnCore, TaskReport,
};

fn spread(values_ns: &[u64]) -> SpreadReport {
    let (count, total_ns): (u64, u64) = (values_ns.len() as u64, values_ns.iter().sum());
    let (min_ns, max_ns) = (values_ns.iter().min().copied(), values_ns.iter().max().copied());
    // As if every run gave exactly the same: whatever differs is evident.
    let (mean_ns, stddev_ns) = (total_ns.checked_div(count), Some(0));
    SpreadReport { count, total_ns, min_ns, mean_ns, stddev_ns, p50_ns: max_ns, p99_ns: max_ns, max_ns }
}

fn task(name: &str, run_ns: u64, latencies_ns: &[u64]) -> TaskReport {
    TaskReport {
        name: name.into(),
        session: 1,
        run_ns,
        cores: vec![TaskOnCore { core: 0, run_ns, cpu_percent: None }],
        latency: spread(latencies_ns),
        ..TaskReport::default()
    }
}

/// 10 ms on one core, of which some tasks have their part.
fn recording(tasks: &[(&str, u64, &[u64])]) -> Vec<Figure> {
    let busy_ns = tasks.iter().map(|(_, run_ns, _)| run_ns).sum();
    let idle_ns = 10_000_000 - busy_ns;
    let idle = TaskReport { is_idle: true, ..task("IDLE", idle_ns, &[]) };
    let statistics = StatisticsReport {
        first_ns: Some(5),
        last_ns: Some(10_000_005),
        cores: vec![CoreReport { busy_ns, idle_ns, ..CoreReport::default() }],
        tasks: tasks.iter().map(|(name, run_ns, latencies)| task(name, *run_ns, latencies)).chain([idle]).collect(),
        ..StatisticsReport::default()
    };
    figures(&statistics, Losses { events: 100, cases: 2, lost_events: 7, repairs: 0 })
}

fn value(figures: &[Figure], path: &str) -> Option<f64> {
    figures.iter().find(|figure| figure.path() == path).map(|figure| figure.value.as_f64())
}

/// Each has a capacity of its own: the fullest is not the one with the highest level.
#[test]
fn of_queues_of_one_name_the_fullest_counts() {
    let queue = |number, level, capacity| ObjectReport {
        name: "rx".into(),
        kind: "queue".into(),
        number,
        high_water: Some(level),
        capacity,
        ..ObjectReport::default()
    };
    let objects = vec![queue(1, 9, Some(10)), queue(2, 50, Some(100)), queue(3, 70, None)];
    let all = figures(&StatisticsReport { objects, ..StatisticsReport::default() }, Losses::default());
    assert_eq!(value(&all, "object.rx.fill_percent"), Some(90.0));
    assert_eq!((value(&all, "object.rx.high_water"), value(&all, "object.rx.capacity")), (Some(70.0), Some(100.0)));
}

/// What a call spans of a gap is in its own time, and so in the time that it is a share of.
#[test]
fn no_function_has_more_than_all_of_the_time() {
    let function = FunctionReport { name: "main".into(), self_ns: 80, calls: spread(&[80]), ..FunctionReport::default() };
    let statistics = StatisticsReport {
        first_ns: Some(50),
        last_ns: Some(100),
        gap_ns: 40,
        functions_ns: 100,
        functions: vec![function],
        ..StatisticsReport::default()
    };
    let all = figures(&statistics, Losses::default());
    assert_eq!(value(&all, "function.main.self_percent"), Some(80.0));
    assert_eq!(value(&all, "function.main.call_rate_hz"), Some(1e8), "of the time in which events were seen");
}

#[test]
fn what_has_one_name_is_one() {
    let all = recording(&[("net rx", 1_000_000, &[10, 30]), ("net rx", 500_000, &[50]), ("b", 250_000, &[])]);
    assert_eq!(value(&all, "task.\"net rx\".cpu_percent"), Some(15.0));
    assert_eq!(value(&all, "task_on_core.\"net rx@0\".run_ns"), Some(1_500_000.0));
    assert_eq!(value(&all, "task_on_core.b@0.cpu_percent"), Some(2.5));
    assert_eq!(value(&all, "latency.\"net rx\".count"), Some(3.0));
    assert_eq!(value(&all, "latency.\"net rx\".mean_ns"), Some(30.0));
    assert_eq!(value(&all, "latency.\"net rx\".max_ns"), Some(50.0));
    assert_eq!(value(&all, "latency.b.max_ns"), None);
    assert_eq!(value(&all, "lost_events"), Some(7.0));
    assert_eq!(value(&all, "task.IDLE.cpu_percent"), None, "idle tasks are no tasks here");
    // An interrupt on two cores has the sum of its shares.
    let isr = |core, self_ns| InterruptReport { name: "tick".into(), core, self_ns, ..InterruptReport::default() };
    let core = |core| CoreReport { core, busy_ns: 1000, ..CoreReport::default() };
    let (interrupts, cores) = (vec![isr(0, 100), isr(1, 300)], vec![core(0), core(1)]);
    let statistics = StatisticsReport { interrupts, cores, ..StatisticsReport::default() };
    assert_eq!(value(&figures(&statistics, Losses::default()), "isr.tick.cpu_percent"), Some(40.0));
}

#[test]
fn rules_are_read() {
    let rule = |text| Rule::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let control = rule("task.control.cpu_percent < 40");
    assert_eq!(
        (control.name, control.limit, control.scale.symbol),
        (Pattern::Exactly("control".into()), Limit::Below(40.0), "%")
    );
    let isr = rule("isr.USART1.max_us <= 20");
    assert_eq!((isr.metric.full_name().as_str(), isr.scale.factor, isr.limit), ("max_ns", 1e3, Limit::AtMost(20.0)));
    assert_eq!(rule("isr.USART1.max < 1.5ms").scale.factor, 1e6);
    assert_eq!(rule("isr.USART1.max_us < 0.02 ms").scale.factor, 1e6, "the limit's own unit counts");
    assert_eq!(rule("losses == 0").limit, Limit::Equal(0.0));
    assert_eq!(rule("heap.used_bytes < 16 KiB").scale.factor, 1024.0);
    assert_eq!(rule("core.0.load_percent in 10..40%").limit, Limit::Within(10.0, 40.0));
    assert_eq!(rule("duration_s > 1").scale.factor, 1e9);
    assert_eq!(rule("value.fill.min>=-461").limit, Limit::AtLeast(-461.0));
    // Names: dots, spaces, operators, and the word `in`.
    assert_eq!(rule("task.net.rx.cpu_percent < 1").name, Pattern::Exactly("net.rx".into()));
    assert_eq!(rule("task.net rx.cpu_percent < 1").name, Pattern::Exactly("net rx".into()));
    assert_eq!(rule(r#"task."a \"b\" c.d".cpu_percent != 1"#).name, Pattern::Exactly("a \"b\" c.d".into()));
    assert_eq!(rule(r#"message."a\n\u{1b}\\n".count < 3"#).name, Pattern::Exactly("a\n\u{1b}\\n".into()));
    assert_eq!(rule(r#"message."\u{zz}\u".count < 3"#).name, Pattern::Exactly("u{zz}u".into()));
    assert_eq!(rule(r#"function."operator<".self_percent < 3"#).name, Pattern::Exactly("operator<".into()));
    assert_eq!(rule(r#"function."operator*".self_percent < 3"#).name, Pattern::Exactly("operator*".into()));
    assert_eq!(rule("function.operator*.self_percent < 3").name, Pattern::Like("operator*".into()));
    assert_eq!(rule("task.main in loop.cpu_percent < 3").limit, Limit::Below(3.0));
}

#[test]
fn what_is_no_rule_says_what_would_be_one() {
    for (text, at, part) in [
        ("task.control.cpu_percent", 24, "an operator is missing"),
        ("task.control.cpu_percent = 4", 25, "\"=\" is no operator"),
        ("task.control.cpu_percent ! 4", 25, "\"!\" is no operator"),
        (
            "task.control.cpu_precent < 4",
            13,
            "there is no metric \"cpu_precent\" of task, perhaps cpu_percent; there are: cpu_percent, run_ns",
        ),
        ("latency.control.p9_us < 4", 16, "perhaps p99_ns"),
        ("core.0.load < 4", 7, "perhaps load_percent"),
        ("loses == 0", 0, "there is no metric \"loses\" of a recording, perhaps losses"),
        ("tasks.control.cpu_percent < 4", 0, "there is no section \"tasks\", perhaps task; there are: core, task"),
        ("task.cpu_percent < 4", 5, "a name is missing: task.NAME.cpu_percent"),
        ("heap.x.used_bytes < 4", 5, "\"heap\" has no names"),
        ("task..cpu_percent < 4", 5, "a part of the metric's name is empty"),
        ("task.\"x.cpu_percent < 4", 23, "an operator is missing"),
        ("task.\"x\"y.cpu_percent < 4", 8, "a dot is missing after the quoted name"),
        ("isr.a.max < 4", 6, "a unit is missing: max_ns, max_us"),
        ("isr.a.max_us < 4 kg", 14, "kg is not a unit of max_ns"),
        ("task.a.cpu_percent < 4us", 20, "us is not a unit of cpu_percent"),
        ("isr.a.max_us < many", 14, "\"many\" is not a number"),
        ("isr.a.max_us < nan", 14, "\"nan\" is not a number"),
        ("isr.a.max_us in 4", 17, "an operator is missing"),
        ("isr.a.max_us in 4..3", 15, "nothing lies in this range"),
        ("isr.a.max in 4us..3ms", 12, "both ends of a range are given in one unit"),
        ("< 4", 0, "a part of the metric's name is empty"),
    ] {
        let error = Rule::parse(text).expect_err(text);
        assert!(error.message.contains(part) && error.at == at, "{text}: {error:?}");
    }
}

#[test]
fn patterns() {
    let fits = |pattern, names: &[&str]| names.iter().map(|name| Pattern::new(pattern).fits(name)).collect::<Vec<_>>();
    assert_eq!(fits("net*", &["net", "net rx", "intranet"]), [true, true, false]);
    assert_eq!(fits("*a*b?", &["xaybz", "ab", "aabbc", ""]), [true, false, true, false]);
    assert_eq!(fits("*", &["", "x"]), [true, true]);
    assert_eq!(fits("a\\*b", &["a*b", "axb"]), [true, false]);
    assert_eq!(fits("?ä", &["öä", "ä"]), [true, false]);
    // A match that tries each way would never end.
    let long = "a".repeat(5000);
    assert!(!Pattern::new(&format!("{}b", "*a".repeat(40))).fits(&long));
}

#[test]
fn budgets_are_read_in_their_order() {
    let budget = Budget::parse(
        "# limits\nrules = [\n  'losses == 0',\n  { rule = 'task.x.cpu_percent < 1', name = 'n', reason = 'r', optional = true },\n]\n\
         gaps = '== 0'\n[task.b]\ncpu_percent = ['< 9', '> 1']\n[task.\"a.*\"]\nrun_ms = '< 2'\n[heap]\nused_bytes = '< 10'\n",
    );
    let budget = budget.unwrap();
    let found: Vec<(String, usize)> = budget.limits.iter().map(|limit| (limit.rule.text.clone(), limit.line)).collect();
    let expected = [
        ("losses == 0", 3),
        ("task.x.cpu_percent < 1", 4),
        ("gaps == 0", 6),
        ("task.b.cpu_percent < 9", 8),
        ("task.b.cpu_percent > 1", 8),
        ("task.a.*.run_ms < 2", 10),
        ("heap.used_bytes < 10", 12),
    ];
    assert_eq!(found, expected.map(|(text, line)| (text.to_owned(), line)));
    let limit = &budget.limits[1];
    assert_eq!((limit.name.as_deref(), limit.reason.as_deref(), limit.is_optional), (Some("n"), Some("r"), true));
}

#[test]
fn a_wrong_budget_says_where() {
    for (text, place, part) in [
        ("", (1, 1), "there is no rule in it"),
        ("rules = [\n  'losses == 0'\n  'gaps == 0'\n]", (3, 3), ""),
        ("rules = [\n  'losses == 0',\n  'losses = 0',\n]", (3, 11), "\"=\" is no operator"),
        ("rules = 'losses == 0'", (1, 9), "`rules` is a list"),
        ("rules = [4]", (1, 10), "a rule is a text"),
        ("rules = [{ name = 'x' }]", (1, 10), "`rule` is missing"),
        ("rules = [{ rule = 'losses == 0', optinal = true }]", (1, 34), "no `optinal`, perhaps `optional`"),
        ("rules = [{ rule = 'losses == 0', optional = 1 }]", (1, 45), "`optional` is true or false"),
        ("rule = ['losses == 0']", (1, 1), "there is no `rule` in a budget, perhaps `rules`"),
        ("[isr.a]\nmax_us = 20", (2, 1), "a limit is a text with an operator"),
        ("[isr.a]\nmax_us = '20'", (2, 1), "an operator is missing"),
        ("[isr.a]\nmaxi_us = '< 20'", (2, 1), "there is no metric \"maxi_us\" of isr, perhaps max_ns"),
        ("[isr.a]\nmax_us = '< x'", (2, 12), "\"x\" is not a number"),
        ("rules = ['losses == ']", (1, 20), "a number is missing"),
        ("strict = true", (1, 1), "there is no `strict` in a budget"),
        ("ä = [", (1, 6), ""),
    ] {
        let error = Budget::parse(text).expect_err(text);
        assert_eq!((error.line, error.column), place, "{text}: {error}");
        assert!(error.message.contains(part), "{text}: {error}");
    }
}

#[test]
fn verdicts_name_who_breaks_a_rule() {
    let all = recording(&[("sensor", 1_000_000, &[10_000, 30_000]), ("net rx", 5_000_000, &[90_000]), ("quiet", 0, &[])]);
    let verdicts = |rules: &[&str]| {
        let list: Vec<String> =
            rules.iter().map(|rule| if rule.starts_with('{') { (*rule).into() } else { format!("'{rule}'") }).collect();
        check(&Budget::parse(&format!("rules = [{}]", list.join(", "))).unwrap(), &all)
    };
    let found = verdicts(&[
        "losses == 0",
        "task.*.cpu_percent < 8",
        "task.*.cpu_percent < 90",
        "task.sensr.cpu_percent < 1",
        "{ rule = 'task.nobody.cpu_percent < 1', optional = true }",
        "latency.net rx.max_us < 100",
        "task.x*.cpu_percent < 1",
        "mutex.a.max_us < 1",
        "heap.used_bytes < 1",
        "task.quiet.stack_free_bytes > 1",
        "task.sensor.cpu_percent in 10..10.5",
        "lost_events != 7",
    ]);
    let outcomes: Vec<Outcome> = found.iter().map(|verdict| verdict.outcome).collect();
    use Outcome::{Broken, Kept, Missing, Skipped};
    assert_eq!(outcomes, [Broken, Broken, Kept, Missing, Skipped, Kept, Missing, Missing, Missing, Missing, Kept, Broken]);
    let values =
        |index: usize| found[index].values.iter().map(|of| (of.metric.as_str(), of.value, of.margin)).collect::<Vec<_>>();
    assert_eq!(values(0), [("losses", 2.0, -2.0)]);
    assert_eq!(values(1), [("task.\"net rx\".cpu_percent", 50.0, -42.0), ("task.sensor.cpu_percent", 10.0, -2.0)]);
    // Of those that keep to it, the one that comes closest to the limit.
    assert_eq!((values(2), found[2].measured), (vec![("task.\"net rx\".cpu_percent", 50.0, 40.0)], 3));
    assert_eq!(values(5), [("latency.\"net rx\".max_us", 90.0, 10.0)]);
    let missing = |index: usize| found[index].missing.clone().unwrap();
    assert_eq!(missing(3), "no task sensr in the recording, perhaps sensor; there are: sensor, \"net rx\", quiet");
    assert_eq!(missing(6), "no task like x* in the recording; there are: sensor, \"net rx\", quiet");
    assert_eq!(missing(7), "nothing of the kind \"mutex\" is in the recording");
    assert_eq!(missing(8), "the recording has no heap used_bytes");
    assert_eq!(missing(9), "task quiet has no stack_free_bytes in the recording");
    assert_eq!(text::verdict_summary(&found), "12 rules: 3 kept, 8 broken, 1 skipped");
    assert_eq!(text::broken(&found[1])[0], "task.\"net rx\".cpu_percent is 50 %, which breaks task.*.cpu_percent < 8");
    // A name that the rule itself has is not printed again.
    let table = text::verdicts(&verdicts(&["task.n*.cpu_percent < 90", "task.sensor.cpu_percent < 90"]));
    let words: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split("  ").map(str::trim).collect()).collect();
    assert!(words[0].contains(&"net rx") && !words[1].contains(&"sensor"), "{table}");
}

/// A bit of a task that moves to another core changes little: its share is not suddenly of twice the time.
#[test]
fn shares_of_several_cores_add_up() {
    let core = |core| CoreReport { core, idle_ns: 1_000_000, ..CoreReport::default() };
    let shares = |run_ns: [u64; 2]| {
        let on = |(core, run_ns): (u16, &u64)| TaskOnCore { core, run_ns: *run_ns, cpu_percent: None };
        let cores = (0..).zip(&run_ns).filter(|(_, run_ns)| **run_ns > 0).map(on).collect();
        let isr = |(core, self_ns): (u16, &u64)| InterruptReport {
            name: "tick".into(),
            core,
            self_ns: *self_ns,
            ..InterruptReport::default()
        };
        let statistics = StatisticsReport {
            cores: vec![core(0), core(1)],
            tasks: vec![TaskReport { cores, ..task("a", run_ns.iter().sum(), &[]) }],
            interrupts: (0..).zip(&run_ns).map(isr).collect(),
            ..StatisticsReport::default()
        };
        let figures = figures(&statistics, Losses::default());
        ["task.a.cpu_percent", "isr.tick.cpu_percent"].map(|path| value(&figures, path))
    };
    assert_eq!(shares([500_000, 0]), [Some(50.0); 2]);
    assert_eq!(shares([490_000, 10_000]), [Some(50.0); 2]);
}

/// The values of very many things are not kept: a thing without quantiles may have greater ones.
#[test]
fn quantiles_of_one_name_are_known_if_all_are() {
    let latency = |quantile| SpreadReport { p50_ns: quantile, p99_ns: quantile, ..spread(&[3000, 9000]) };
    let p99 = |second: SpreadReport| {
        let tasks = [latency(Some(3000)), second].map(|latency| TaskReport { latency, ..task("a", 1, &[]) }).to_vec();
        value(&figures(&StatisticsReport { tasks, ..StatisticsReport::default() }, Losses::default()), "latency.a.p99_ns")
    };
    assert_eq!((p99(latency(Some(5000))), p99(latency(None)), p99(spread(&[]))), (Some(5000.0), None, Some(3000.0)));
}

/// A value of a signal may be no number. It keeps to no limit.
#[test]
fn what_is_no_number_breaks_a_rule() {
    let metric = list::of_section("value").into_iter().find(|metric| metric.name == "last").unwrap();
    let figure = |number: usize| {
        let value = if number.is_multiple_of(3) { f64::NAN } else { number as f64 };
        Figure::new(metric, format!("v{number}"), Number::Real(value))
    };
    let all: Vec<Figure> = (0..100).map(figure).collect();
    let verdicts = check(&Budget::parse("rules = ['value.*.last < 50']").unwrap(), &all);
    assert_eq!((verdicts[0].outcome, verdicts[0].values.len()), (Outcome::Broken, 34 + 33));
    assert!(verdicts[0].values.iter().filter(|of| of.value.is_nan()).count() == 34);
}

#[test]
fn differences_name_who_got_slower() {
    let base = recording(&[("sensor", 1_000_000, &[10_000]), ("filter", 2_000_000, &[20_000]), ("gone", 1, &[])]);
    let new = recording(&[("sensor", 1_010_000, &[30_000]), ("filter", 3_000_000, &[10_000]), ("born", 1, &[])]);
    let options = DiffOptions { fail_over_percent: Some(60.0), ..DiffOptions::default() };
    let all = diff(&base, &new, &options);
    let worst = all.worst().unwrap();
    assert_eq!((worst.metric.as_str(), worst.base, worst.new), ("task.filter.cpu_percent", 20.0, 30.0));
    assert_eq!((worst.change_percent, worst.is_too_much), (Some(50.0), false));
    assert_eq!(text::worst(&all).unwrap(), "task filter: CPU 20 % → 30 % (+50.0 %)");
    // 1 % more of the time is a small change; the latency of sensor is three times what it was.
    assert!(!all.changes.iter().any(|change| change.metric == "task.sensor.cpu_percent"));
    let latency = all.changes.iter().find(|change| change.metric == "latency.sensor.mean_ns").unwrap();
    assert_eq!((latency.direction, latency.is_too_much, all.is_too_much), (Direction::Worse, true, true));
    let better = all.changes.iter().find(|change| change.metric == "latency.filter.mean_ns").unwrap();
    assert_eq!((better.direction, better.is_too_much), (Direction::Better, false));
    let names = |things: &[super::diff::Thing]| things.iter().map(|thing| thing.name.clone()).collect::<Vec<_>>();
    assert_eq!((names(&all.removed), names(&all.added)), (vec!["gone".to_owned()], vec!["born".to_owned()]));
    // A task that is ready for ever has no latency.
    let starved = recording(&[("sensor", 1_000_000, &[10_000]), ("filter", 2_000_000, &[])]);
    let missing = diff(&base, &starved, &options).removed;
    let missing: Vec<_> = missing.iter().map(|thing| (thing.section, thing.name.as_str())).collect();
    assert_eq!(missing, [("latency", "filter"), ("task", "gone")]);
    // Changes for the worse come first.
    let ways: Vec<Direction> = all.changes.iter().map(|change| change.direction).collect();
    let noise = all.changes.iter().position(|change| change.is_noise).unwrap();
    assert!(ways[..noise].is_sorted() && ways[noise..].is_sorted(), "{ways:?}");
    assert!(all.changes[noise..].iter().all(|change| change.is_noise && !change.is_too_much));
    let only = DiffOptions { only: vec!["task.*.cpu_percent".into()], ..options.clone() };
    let few = diff(&base, &new, &only);
    assert_eq!((few.compared, few.changes.len(), few.is_too_much), (2, 1, false));
    let nothing = diff(&base, &base, &options);
    assert_eq!((nothing.changes.len(), nothing.worst(), nothing.is_too_much), (0, None, false));
}

#[test]
fn small_changes_do_not_shout() {
    let one = |latency_ns| recording(&[("a", 1_000_000, &[latency_ns])]);
    let changed = |base, new, options: &DiffOptions| {
        let changes = diff(&one(base), &one(new), options).changes;
        changes.into_iter().map(|change| change.metric.rsplit('.').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let options = DiffOptions::default();
    // 900 ns are nothing, however much that is beside 100 ns.
    assert_eq!(changed(100, 1000, &options), Vec::<String>::new());
    assert_eq!(changed(100, 1000, &DiffOptions { min_time_ns: 500.0, ..options.clone() }).len(), 5);
    // Quantiles of many values are known to a 64th.
    let fine = DiffOptions { min_change_percent: 1.0, ..options.clone() };
    assert_eq!(changed(100_000, 101_500, &fine), ["mean_ns", "max_ns", "min_ns"]);
    assert_eq!(changed(100_000, 101_700, &fine).len(), 5);
    assert_eq!(changed(100_000, 114_000, &DiffOptions { min_change_percent: 20.0, ..options }).len(), 0);
}

#[test]
fn losses_come_first() {
    let losses = |cases| figures(&StatisticsReport::default(), Losses { cases, ..Losses::default() });
    let options = DiffOptions { fail_over_percent: Some(1000.0), ..DiffOptions::default() };
    let diff = diff(&losses(0), &losses(3), &options);
    assert_eq!(
        (diff.changes[0].change_percent, diff.is_too_much),
        (None, true),
        "from nothing to something is beyond every share"
    );
    assert_eq!(text::worst(&diff).unwrap(), "losses 0 → 3 (new)");
    assert_eq!(diff.compared, 0, "every recording has losses");
}

#[test]
fn the_list_is_in_order() {
    let mut all = 0;
    for (section, _) in list::SECTIONS {
        let metrics = list::of_section(section);
        let mut names: Vec<String> = metrics.iter().map(|metric| metric.full_name()).collect();
        all += names.len();
        assert!(metrics.iter().all(|metric| metric.section == section && !metric.text.is_empty()), "{section}");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), metrics.len(), "a name means one metric of {section}");
        for metric in metrics {
            // Metrics that are not compared need no direction, except those that follow from others.
            assert!(metric.nature != Nature::Quantile || metric.name.contains('p'), "{metric:?}");
            let name = if list::NAMELESS.contains(&section) { "" } else { ".x" };
            let path = format!("{section}{name}.{}", metric.full_name());
            let rule = format!("{} < 1", path.trim_start_matches('.'));
            assert_eq!(Rule::parse(&rule).unwrap_or_else(|error| panic!("{rule}: {error}")).metric, metric);
        }
    }
    assert!(all > 100);
}

#[test]
fn single_events_and_noise_are_no_headline() {
    let spread = |count, mean_ns, stddev_ns, max_ns| SpreadReport {
        count,
        total_ns: count * mean_ns,
        min_ns: Some(1),
        mean_ns: Some(mean_ns),
        stddev_ns: Some(stddev_ns),
        max_ns: Some(max_ns),
        ..SpreadReport::default()
    };
    let of = |latency: SpreadReport| {
        let statistics = StatisticsReport {
            first_ns: Some(0),
            last_ns: Some(1_000_000_000),
            tasks: vec![TaskReport { latency, ..task("a", 1_000_000, &[]) }],
            ..StatisticsReport::default()
        };
        figures(&statistics, Losses::default())
    };
    let base = of(spread(100, 50_000, 20_000, 200_000));
    let options = DiffOptions { fail_over_percent: Some(5.0), ..DiffOptions::default() };
    // 2.8 standard errors, and a maximum four times as long: both are listed, and neither fails.
    let near = diff(&base, &of(spread(100, 58_000, 20_000, 800_000)), &options);
    assert_eq!((near.worst(), near.is_too_much, near.changes.len(), near.noise()), (None, false, 2, 2));
    // Unless they are asked for.
    let only = |metric: &str| DiffOptions { only: vec![metric.into()], ..options.clone() };
    for metric in ["latency.a.max_us", "latency.*.mean_ns", "latency.*.max_ms"] {
        let asked = diff(&base, &of(spread(100, 58_000, 20_000, 800_000)), &only(metric));
        assert_eq!((asked.compared, asked.is_too_much), (1, true), "{metric}");
    }
    let far = diff(&base, &of(spread(100, 60_000, 20_000, 200_000)), &options);
    assert_eq!(far.worst().unwrap().metric, "latency.a.mean_ns");
    assert!(far.is_too_much && far.changes[0].evidence.unwrap() > 3.5);
    let wrong =
        DiffOptions { only: vec!["latency.a.mean_us".into(), "latency.b.mean_us".into(), "latency.a.maen_us".into()], ..options };
    assert_eq!(diff(&base, &base, &wrong).unmatched, ["latency.b.mean_us", "latency.a.maen_us"]);
}

#[test]
fn what_got_slower_under_another_name_is_noticed() {
    use super::diff::FailOnNew;
    let of = |name: &str, run_ns| {
        let runs = SpreadReport { count: 100, total_ns: run_ns, stddev_ns: Some(0), ..SpreadReport::default() };
        let statistics = StatisticsReport {
            first_ns: Some(0),
            last_ns: Some(1_000_000_000),
            cores: vec![CoreReport { busy_ns: run_ns, idle_ns: 10_000_000, ..CoreReport::default() }],
            tasks: vec![TaskReport { runs, priority: Some(3), ..task(name, run_ns, &[]) }],
            ..StatisticsReport::default()
        };
        figures(&statistics, Losses::default())
    };
    let (base, new) = (of("control", 1_000_000), of("control2", 5_000_000));
    for (fail_on_new, fails) in [(FailOnNew::None, false), (FailOnNew::Tasks, true), (FailOnNew::All, true)] {
        let options =
            DiffOptions { fail_over_percent: Some(5.0), fail_on_new, only: vec!["task.*".into()], ..DiffOptions::default() };
        let found = diff(&base, &new, &options);
        assert_eq!((found.is_too_much, found.added[0].other_name.as_deref()), (fails, Some("control")));
        assert_eq!(text::thing(&found.added[0]), "task control2 (renamed? control)");
    }
}

#[test]
fn a_baseline_knows_how_runs_differ() {
    use super::baseline::BaselineFile;
    let run = |run_ns| ("x.bin".to_owned(), recording(&[("a", run_ns, &[])]));
    let baseline = BaselineFile::new("1.2.3", &[run(1_000_000), run(1_100_000), run(900_000)]);
    let json = serde_json::to_string(&baseline).unwrap();
    let saved = super::saved::read(json.as_bytes()).unwrap();
    assert!(saved.runs.is_some_and(|runs| runs > 1));
    let base = saved.figures;
    let cpu = base.iter().find(|figure| figure.path() == "task.a.cpu_percent").unwrap();
    assert!((cpu.value.as_f64() - 10.0).abs() < 1e-9 && (cpu.runs.unwrap().stddev - 1.0).abs() < 1e-9);
    let options = |only: &[&str]| DiffOptions {
        fail_over_percent: Some(5.0),
        only: only.iter().map(|&only| only.to_owned()).collect(),
        ..DiffOptions::default()
    };
    let of = |base: &[Figure], run_ns| diff(base, &recording(&[("a", run_ns, &[])]), &options(&["task.*.cpu_percent"]));
    // Of three runs, the deviation is hardly known: Student's distribution has 19.2 of them where the normal one has 3.
    let near = of(&base, 1_500_000);
    assert_eq!((near.worst(), near.noise(), near.is_too_much), (None, 1, false));
    let far = of(&base, 3_500_000);
    assert_eq!(text::worst(&far).unwrap(), "task a: CPU 10 % → 35 % (+250.0 %, 3.4 spreads)");
    assert!(far.is_too_much);
    // Of many, it is.
    let runs: Vec<_> = (0..60).map(|index| run([1_000_000, 1_100_000, 900_000][index % 3])).collect();
    let many = BaselineFile::new("1.2.3", &runs).into_figures();
    assert!(of(&many, 1_200_000).worst().is_none());
    assert_eq!(text::worst(&of(&many, 1_500_000)).unwrap(), "task a: CPU 10 % → 15 % (+50.0 %, 5.7 spreads)");
}

/// The samples of a run say how much runs are expected to differ, so few of them are enough.
#[test]
fn few_runs_are_enough_where_samples_are_many() {
    use super::baseline::BaselineFile;
    let run = |mean_ns: u64| {
        let mut rx = task("rx", 1_000_000, &[mean_ns; 100]);
        rx.latency.stddev_ns = Some(100_000);
        let statistics = StatisticsReport { last_ns: Some(10_000_000), tasks: vec![rx], ..StatisticsReport::default() };
        figures(&statistics, Losses::default())
    };
    let runs = [500_000, 500_100, 500_200].map(|mean_ns| ("x.bin".to_owned(), run(mean_ns)));
    let base = BaselineFile::new("1.2.3", &runs).into_figures();
    let options = DiffOptions { only: vec!["latency.rx.mean_ns".into()], ..DiffOptions::default() };
    let is_noise = |mean_ns| diff(&base, &run(mean_ns), &options).changes[0].is_noise;
    // Beyond what Student makes of the deviation of 100 ns.
    assert!(!is_noise(512_000));
    // Here the standard error of 10 us is less than that.
    let runs = [495_000, 500_000, 505_000].map(|mean_ns| ("x.bin".to_owned(), run(mean_ns)));
    let base = BaselineFile::new("1.2.3", &runs).into_figures();
    let is_noise = |mean_ns| diff(&base, &run(mean_ns), &options).changes[0].is_noise;
    assert_eq!([520_000, 540_000].map(is_noise), [true, false]);
}

/// How much a figure is worth does not depend on whether the base is the recording or a baseline of it alone.
#[test]
fn a_baseline_of_one_run_is_that_run() {
    use super::baseline::BaselineFile;
    let run = |latencies_ns: &[u64]| {
        let mut rx = task("rx", 1_000_000, latencies_ns);
        rx.latency.stddev_ns = Some(400_000);
        let statistics = StatisticsReport {
            last_ns: Some(10_000_000),
            cores: vec![CoreReport { busy_ns: 1_000_000, idle_ns: 9_000_000, ..CoreReport::default() }],
            tasks: vec![rx],
            ..StatisticsReport::default()
        };
        figures(&statistics, Losses::default())
    };
    let (before, after) = (run(&[500_000; 9]), run(&[600_000; 9]));
    let baseline = BaselineFile::new("1.2.3", &[("x.bin".to_owned(), before.clone())]);
    let saved = super::saved::read(serde_json::to_string(&baseline).unwrap().as_bytes()).unwrap().figures;
    let differences = |base: &[Figure]| diff(base, &after, &DiffOptions::default());
    let (direct, by_baseline) = (differences(&before), differences(&saved));
    assert_eq!(direct, by_baseline);
    let mean = direct.changes.iter().find(|change| change.metric == "latency.rx.mean_ns").unwrap();
    assert!(mean.is_noise && mean.evidence.is_some(), "{mean:?}");
    // Of several runs, their spread counts.
    let several = BaselineFile::new("1.2.3", &[("x.bin".to_owned(), before.clone()), ("y.bin".to_owned(), before)]);
    assert!(several.figures.iter().all(|figure| figure.uncertainty.is_none()));
}

/// What is beyond a limit does not look like the limit, and what is the limit looks like it.
#[test]
fn values_near_a_limit_have_as_many_decimals_as_it_takes() {
    let figures = recording(&[("a", 1_000_123, &[])]);
    let of = |text: &str| {
        let budget = Budget::parse(&format!("rules = [\"{text}\"]")).unwrap();
        let verdicts = check(&budget, &figures);
        (text::broken(&verdicts[0]), text::verdicts(&verdicts))
    };
    let (sentences, table) = of("task.a.cpu_percent < 10.001");
    assert_eq!(sentences, ["task.a.cpu_percent is 10.0012 %, which breaks task.a.cpu_percent < 10.001"]);
    assert!(table.contains("10.0012 %  -0.0002 %"), "{table}");
    assert_eq!(of("task.a.cpu_percent < 10").0, ["task.a.cpu_percent is 10.001 %, which breaks task.a.cpu_percent < 10"]);
    assert_eq!(of("task.a.run_ns < 1000123").0, ["task.a.run_ns is 1000123 ns, which breaks task.a.run_ns < 1000123"]);
    let (sentences, table) = of("task.a.run_s <= 0.00100012");
    assert_eq!(sentences, ["task.a.run_s is 0.001000123 s, which breaks task.a.run_s <= 0.00100012"]);
    assert!(table.contains("0.001000123 s  -0.000000003 s"), "{table}");
    let figures = recording(&[("a", 6775, &[])]);
    let of = |text: &str| {
        let budget = Budget::parse(&format!("rules = [\"{text}\"]")).unwrap();
        text::verdicts(&check(&budget, &figures))
    };
    for (rule, shown) in [
        ("task.a.run_ms == 0.006775", "0.006775 ms    0 ms"),
        ("task.a.run_ms < 0.006775", "0.006775 ms    0 ms"),
        ("task.a.run_s <= 0.000006775", "0.000006775 s     0 s"),
        ("task.a.run_s < 1", " 0.00000678 s  0.9999"),
    ] {
        assert!(of(rule).contains(shown), "{}", of(rule));
    }
}
