//! SyS-T's own stages, by transport, on generated captures: reading messages and formatting their texts. For STPv2, the part of it
//! that is decoded ahead, from the first VERSION of a part on; joining parts in the ordered stage is not measured.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use traceconv::format::syst::generate::{self, Carrier, GenerateOptions};
use traceconv::format::syst::stp::NibbleOrder;
use traceconv::format::{FORMATS, FormatOptions, OptionValue, Part};

fn stages(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("syst");
    let carriers = [("syst-text", Carrier::Text), ("syst-raw", Carrier::Raw), ("syst-stp", Carrier::Stp(NibbleOrder::Msb))];
    for (name, carrier) in carriers {
        let mut input = Vec::new();
        let options = GenerateOptions { bytes: 4 << 20, carrier, ..GenerateOptions::default() };
        generate::generate(&options, &mut input).expect("memory does not fail");
        let format = FORMATS.iter().find(|format| format.name() == name).expect("it is registered");
        let file =
            OptionValue::File { path: "collateral".into(), bytes: generate::collateral(options.formats).into_bytes().into() };
        let options = FormatOptions { own: vec![("collateral", file)], ..FormatOptions::default() };
        let scan = || format.open(std::slice::from_ref(&options)).expect("the options are right");
        let whole = Part::new(&input, 0..input.len());
        group.throughput(Throughput::Bytes(input.len() as u64));
        group.bench_function(format!("scan {name}"), |bencher| {
            let scan = scan();
            bencher.iter_batched(|| (), |()| scan.scan(0, whole), BatchSize::PerIteration);
        });
        group.bench_function(format!("decode {name}"), |bencher| {
            let scan = scan();
            let facts = scan.join(&input, None, scan.scan(0, whole));
            let stages = scan.finish(vec![Some(facts)], &mut [Default::default()]);
            bencher.iter_batched(|| (), |()| stages.decode.decode(0, whole, None), BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, stages);
criterion_main!(benches);
