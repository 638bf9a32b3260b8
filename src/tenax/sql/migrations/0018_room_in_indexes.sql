-- Each attempt writes two new versions of its item, and each version has an entry in these indexes beside the old one.
-- Room on their pages takes them in. Full pages would be searched for old versions all the
-- time.
alter index tenax.item_pkey set (fillfactor = 30);
alter index tenax.item_execution set (fillfactor = 30);
