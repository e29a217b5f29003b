//! `docs/reference/loss-codes.md` is made from the table of loss codes, the only place in which there are any.

use std::path::Path;

use traceconv::model::losses::loss_codes_page;

use super::hold;

#[test]
fn the_page_of_loss_codes_is_fresh() {
    hold(Path::new("docs/reference/loss-codes.md"), &loss_codes_page());
}
